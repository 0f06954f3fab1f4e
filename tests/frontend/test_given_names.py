"""Kernels of a factory under names of their own: ``kernel.__name__`` is what the program calls them."""

from __future__ import annotations

import numpy as np
import pytest

import allo
from allo.errors import AlloError
from allo.ir.types import Int, int8, int32
from tests.engine import engine


def adder(name: str, amount: int):
    def add[N: int32](A: int32[N], B: int32[N]):
        for i in range(N):
            B[i] = A[i] + amount

    add.__name__ = name
    return add


one, two = adder("add_one", 1), adder("add_two", 2)


def test_two_kernels_of_a_factory_have_their_names():
    def both(A: int32[4], B: int32[4], C: int32[4]):
        one[4](A, B)
        two[4, "last"](B, C)

    s = allo.customize(both)
    assert list(s.func_args) == ["add_one", "add_two_last", "both"]
    s.pipeline("add_one:i")
    s.compose(allo.customize(two, instantiate=[4]), id="last")
    A = np.arange(4, dtype=np.int32)
    for target in ("llvm", "vhls", "verilog"):
        B, C = np.zeros((2, 4), np.int32)
        s.build(target=target, **engine(target))(A, B, C)
        np.testing.assert_array_equal([B, C], [A + 1, A + 3], err_msg=target)
    assert "void add_one(" in str(s.build(target="vhls"))


def test_the_top_has_its_name_and_its_line():
    s = allo.customize(two, instantiate=[4])
    assert s.top_func_name == "add_two"
    assert "module add_two(" in str(s.build(target="verilog"))
    with pytest.raises(AlloError) as raised:
        allo.customize(two, instantiate=[int8, 4])
    text = str(raised.value)
    assert "add_two" in text
    assert "def add[N: int32]" in text
    assert "^^^\n" in text


def test_a_name_that_is_no_word_is_left_out():
    three = adder("add three", 3)
    assert allo.customize(three, instantiate=[4]).top_func_name == "add"


def test_widths_of_a_factory_are_types():
    def cell(bits: int):
        def narrow(A: Int(bits)[4]) -> Int(bits + 1)[4]:
            B: Int(bits + 1)[4]
            for i in range(4):
                B[i] = A[i] + A[i] + 0 * bits
            return B

        narrow.__name__ = f"narrow_{bits}"
        return narrow

    s = allo.customize(cell(5))
    assert s.top_func_name == "narrow_5"
    np.testing.assert_array_equal(
        s.build()(np.array([-16, 15, 1, 0], np.int8)), np.array([-32, 30, 2, 0], np.int8)
    )
