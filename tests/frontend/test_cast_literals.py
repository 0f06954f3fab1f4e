"""A cast makes a value of its type: ``int(256) << 23`` wraps, ``256 << 23`` does not (docs/language.md)."""
# ruff: noqa: UP018

from __future__ import annotations

import numpy as np
import pytest

import allo
from allo.ir.types import Int, UInt, bool, float32, float64, int8, int32


def shifted() -> Int(64):
    return int(256) << 23


def literal_shifted() -> Int(64):
    return 256 << 23


def multiplied() -> Int(64):
    x: Int(64) = int32(int(65536) << 15) * 1
    return x


def compared(n: Int(40)) -> UInt(1):
    return (int(256) << 23) >= n


def narrow() -> Int(64):
    return int8(64) << 1


def beside_a_wide_float(x: float64) -> float64:
    return float(0.1) + x


def literal_beside_a_wide_float(x: float64) -> float64:
    return 0.1 + x


def nearest() -> bool:
    return float32(0.1) == 0.1


CASES = {
    shifted: ((), -(2**31)),
    literal_shifted: ((), 2**31),
    multiplied: ((), -(2**31)),
    compared: ((0,), 0),
    narrow: ((), -128),
    beside_a_wide_float: ((0.25,), float(np.float32(0.1)) + 0.25),
    literal_beside_a_wide_float: ((0.25,), 0.1 + 0.25),
}


@pytest.mark.parametrize("kernel", CASES, ids=lambda kernel: kernel.__name__)
def test_a_cast_is_no_literal(kernel):
    arguments, expected = CASES[kernel]
    assert allo.interpret(kernel)(*arguments) == expected
    assert allo.customize(kernel).build()(*arguments) == expected


def test_a_cast_float_beside_a_literal():
    """Both sides are float32: the literal beside the value takes its type."""
    assert allo.interpret(nearest)() == allo.customize(nearest).build()() == 1


def test_csim_and_hardware_agree_with_the_cast():
    for target in ("vhls", "verilog"):
        options = {"mode": "csim"} if target == "vhls" else {"simulator": "jit"}
        module = allo.customize(compared).build(target=target, **options)
        assert [module(n) for n in (0, 5, -(2**31), -(2**35), 2**33)] == [0, 0, 1, 1, 0]


def test_a_cast_that_is_out_of_range_in_a_subscript():
    def kernel(A: int32[4]) -> int32:
        return A[int8(200)]

    with pytest.raises(allo.errors.ShapeMismatchError, match="out of range: -56"):
        allo.customize(kernel)
