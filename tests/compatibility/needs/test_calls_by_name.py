"""Modules called with arguments by name, and with the defaults of the kernel."""

from __future__ import annotations

import numpy as np
import pytest

import allo
import allo.dataflow as df
from allo.errors import ArgumentCountError, BoundaryError, OptionError
from allo.ir.types import Fixed, Stream, float32, int8, int32
from tests.engine import engine


def affine(A: int32[4], B: int32[4], s: int32 = 3, t: int32 = -4):
    for i in range(4):
        B[i] = A[i] * s + t


def blend(x: float32[4], a: float32 = 0.25, k: int8 = 44) -> float32[4]:
    y: float32[4]
    for i in range(4):
        y[i] = x[i] * a + k
    return y


def doubled(n: int32 = 5, q: Fixed(16, 4) = 1.5) -> int32:
    r: int32 = n * 2 + q * 2
    return r


def caller(A: int32[4], B: int32[4]):
    C: int32[4]
    affine(A, C, t=1)
    affine(B=B, A=C)


TARGETS = {
    "cpu": lambda f: allo.customize(f).build(),
    "oracle": allo.interpret,
    "csim": lambda f: allo.customize(f).build("vhls"),
    "vitis": lambda f: allo.customize(f).build("vitis_hls"),
    "xls": lambda f: allo.customize(f).build("xls", mode="sw_emu"),
    "rtl": lambda f: allo.customize(f).build("verilog", simulator="jit"),
}
BUILT = [name for name in TARGETS if name != "oracle"]
A = np.arange(4, dtype=np.int32)


def on(*names):
    return pytest.mark.parametrize("make", [TARGETS[n] for n in names], ids=names)


@on(*TARGETS)
def test_arguments_by_name_and_defaults(make):
    mod = make(affine)
    for args, named, s, t in (
        ((), {}, 3, -4),
        ((), {"t": 7}, 3, 7),
        ((5,), {"t": 7}, 5, 7),
        ((5, 6), {}, 5, 6),
    ):
        B = np.zeros(4, np.int32)
        mod(A, B, *args, **named)
        np.testing.assert_array_equal(B, A * s + t)
    B = np.zeros(4, np.int32)
    mod(t=0, B=B, A=A)
    np.testing.assert_array_equal(B, A * 3)


@on("cpu", "oracle", "csim", "vitis", "rtl")
def test_defaults_take_the_type_of_their_parameter(make):
    mod, x = make(blend), np.array([1, 2, 4, 8], np.float32)
    np.testing.assert_array_equal(mod(x), x / 4 + 44)
    np.testing.assert_array_equal(mod(x, k=-1), x / 4 - 1)
    np.testing.assert_array_equal(mod(a=2.0, x=x), x * 2 + 44)


@on("cpu", "oracle", "csim", "vitis", "rtl")
def test_a_call_without_any_argument(make):
    mod = make(doubled)
    assert [mod(), mod(7), mod(q=0.25), mod(q=-2.0, n=1)] == [13, 17, 10, -2]


@on("cpu", "oracle", "csim", "rtl")
def test_defaults_inside_and_outside_are_one(make):
    B = np.zeros(4, np.int32)
    make(caller)(B=B, A=A)
    np.testing.assert_array_equal(B, (A * 3 + 1) * 3 - 4)


@on("csim", "vitis")
def test_arrays_for_results_stand_behind_the_arguments(make):
    x, y = np.ones(4, np.float32), np.zeros(4, np.float32)
    make(blend)(x, 0.5, 2, y)
    np.testing.assert_array_equal(y, np.full(4, 2.5, np.float32))


@df.region()
def scaled(a: int32[4], b: int32[4], k: int32 = 2):
    pipe: Stream[int32, 2]

    @df.kernel(mapping=[1], args=[a])
    def send(x: int32[4]):
        for i in range(4):
            pipe.put(x[i])

    @df.kernel(mapping=[1], args=[b])
    def receive(y: int32[4]):
        for i in range(4):
            y[i] = pipe.get() * k


@pytest.mark.parametrize("target", ["simulator", "vitis_hls", "verilog", "oracle"])
def test_regions_have_defaults(target, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    mod = (
        allo.interpret(scaled)
        if target == "oracle"
        else df.build(scaled, target=target, **engine(target))
    )
    b = np.zeros(4, np.int32)
    mod(A, b)
    np.testing.assert_array_equal(b, A * 2)
    mod(A, k=5, b=b)
    np.testing.assert_array_equal(b, A * 5)


@on(*BUILT)
def test_an_unknown_name_is_refused(make):
    with pytest.raises(OptionError) as caught:
        make(affine)(A, A.copy(), S=2)
    assert caught.value.message.endswith("takes no option 'S'.")
    assert "Arguments of the kernel: A, B, s, t." in caught.value.help


@on(*BUILT)
def test_an_argument_given_twice_is_refused(make):
    with pytest.raises(ArgumentCountError) as caught:
        make(affine)(A, A.copy(), 1, s=2)
    assert caught.value.message == "Argument s of affine is given by position and by name."


@on(*BUILT)
def test_an_argument_that_is_missing_is_named(make):
    with pytest.raises(ArgumentCountError) as caught:
        make(affine)(A, s=2)
    assert caught.value.message == "The call of affine gives no B."
    assert caught.value.help == "its arguments: A, B, s, t."


def test_the_oracle_refuses_names_as_well():
    with pytest.raises(BoundaryError, match="'s' is given twice in a call of affine"):
        allo.interpret(affine)(A, A.copy(), 1, s=2)
    with pytest.raises(BoundaryError, match="'S' is no parameter of affine"):
        allo.interpret(affine)(A, A.copy(), S=2)


def test_too_few_arguments_are_counted_as_before():
    with pytest.raises(AssertionError, match="# of input arguments mismatch, got 1 but expected 4"):
        allo.customize(affine).build()(A)


def test_options_of_a_simulation_stand_beside_names():
    mod, B = allo.customize(affine).build("verilog", simulator="jit"), np.zeros(4, np.int32)
    mod(A, B=B, max_cycles=1000)
    np.testing.assert_array_equal(B, A * 3 - 4)
