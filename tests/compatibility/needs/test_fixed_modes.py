"""Fixed point that rounds and saturates where a value becomes one of its type."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

import allo
import allo.dataflow as df
from allo.errors import CompileTimeError, DTypeError, TypeMismatchError
from allo.ir.types import Fixed, Stateful, Stream, UFixed, float32, float64, int16, uint8
from tests.engine import engine

TARGETS = {
    "cpu": lambda f: allo.customize(f).build(),
    "oracle": allo.interpret,
    "csim": lambda f: allo.customize(f).build("vhls"),
    "vitis": lambda f: allo.customize(f).build("vitis_hls"),
    "rtl": lambda f: allo.customize(f).build("verilog", simulator="jit"),
}
on_every_target = pytest.mark.parametrize("make", TARGETS.values(), ids=TARGETS)
RNG = np.random.default_rng(7)
ROUNDINGS = ("truncate", "nearest", "convergent")
OVERFLOWS = ("wrap", "saturate")
# Values that are ties of Fixed(8, 4), beside others.
TIES = np.arange(-600, 600, 20) / 64.0 + 2.0**-5
SOURCES = {
    "fixed": (Fixed(14, 6), np.concatenate([TIES, [127.0, -128.0, 8.0, -8.03125]])),
    "ufixed": (UFixed(9, 7), RNG.integers(0, 512, 64) / 128.0),
    "int16": (int16, RNG.integers(-40, 40, 64).astype(np.int16)),
    "uint8": (uint8, RNG.integers(0, 256, 64).astype(np.uint8)),
    "float32": (float32, np.concatenate([TIES, [100.5, -100.5, -1e-30, 7.96875]])),
    "float64": (float64, np.concatenate([TIES, [1e15, -1e15, 1e-300, -7.96875]])),
}


def expected(values, dtype, is_float):
    """The rules of docs/language.md, on exact numbers."""
    found = []
    for value in values.tolist():
        steps = Fraction(value) * 2**dtype.fracs
        if dtype.rounding == "nearest":
            raw = math.floor(steps + Fraction(1, 2))
        elif dtype.rounding == "convergent":
            raw = round(steps)
        else:
            raw = math.trunc(steps) if is_float else math.floor(steps)
        low = -(2 ** (dtype.bits - 1)) if isinstance(dtype, Fixed) else 0
        if dtype.overflow == "saturate":
            raw = min(max(raw, low), low + 2**dtype.bits - 1)
        found.append(((raw - low) % 2**dtype.bits + low) / 2**dtype.fracs)
    return found


def converting(source, dtype):
    def kernel(a: source[64]) -> dtype[64]:
        b: dtype[64]
        for i in range(64):
            b[i] = a[i]
        return b

    return kernel


@pytest.mark.parametrize("overflow", OVERFLOWS)
@pytest.mark.parametrize("rounding", ROUNDINGS)
@pytest.mark.parametrize("name", SOURCES)
def test_conversions(name, rounding, overflow):
    source, values = SOURCES[name]
    values = values.astype(name) if name.startswith("float") else values
    for kind in (Fixed, UFixed):
        dtype = kind(8, 4, rounding=rounding, overflow=overflow)
        kernel, want = (
            converting(source, dtype),
            expected(values, dtype, name.startswith("float")),
        )
        for target in ("cpu", "oracle"):
            np.testing.assert_array_equal(TARGETS[target](kernel)(values), want)


@pytest.mark.parametrize("target", ["csim", "vitis", "rtl"])
@pytest.mark.parametrize("name", ["fixed", "uint8", "float32"])
def test_conversions_in_hardware(name, target):
    source, values = SOURCES[name]
    values = values.astype(name) if name.startswith("float") else values
    for rounding, overflow in (("convergent", "saturate"), ("nearest", "wrap")):
        dtype = Fixed(8, 4, rounding=rounding, overflow=overflow)
        found = TARGETS[target](converting(source, dtype))(values)
        np.testing.assert_array_equal(found, expected(values, dtype, name == "float32"))


@pytest.mark.parametrize("target", ["cpu", "oracle", "csim", "rtl"])
@pytest.mark.parametrize("rounding", ROUNDINGS)
def test_floats_that_no_integer_holds(target, rounding):
    values = np.zeros(64, np.float32)
    values[:6] = [1e30, -1e30, np.inf, -np.inf, np.nan, -1e-40]
    source, dtype = float32, Fixed(8, 4, rounding, "saturate")
    found = TARGETS[target](converting(source, dtype))(values)
    np.testing.assert_array_equal(found[:6], [7.9375, -8, 7.9375, -8, 0, 0])


Sat = Fixed(8, 4, "nearest", "saturate")
Even = Fixed(10, 2, rounding="convergent")
START = np.array([0.125, 0.375, -0.125, 0.625])


def filtered(x: Sat[8], k: Fixed(8, 6)) -> Sat[8]:
    y: Sat[8]
    state: Sat @ Stateful = 7.99
    for i in range(8):
        state += x[i] * k
        y[i] = state
    return y


def helper(v: Even, w: Sat) -> Even:
    return v + w


def called(x: float32[4]) -> Even[4]:
    table: Even[4] = START
    y: Even[4]
    for i in range(4):
        y[i] = helper(x[i], x[i] * 100) + table[i]
    return y


def chosen(x: Fixed(12, 6)[4]) -> float32[4]:
    y: float32[4]
    for i in range(4):
        low: Sat = x[i]
        y[i] = low if low < 3 else 2.96875
        y[i] += -low
    return y


X8 = np.array([1.5, -7.9, 3.25, 7.9, 7.9, 7.9, -7.9, 0.0625])
XF = np.array([0.125, 0.375, -0.625, 1.1], np.float32)


@on_every_target
def test_compound_assignments_saturate(make):
    mod = make(filtered)
    state = 7.9375
    for _ in range(2):
        want = []
        for value in expected(X8, Sat, True):
            step = Fraction(state) + Fraction(value) * Fraction(1, 2)
            raw = math.floor(step * 16 + Fraction(1, 2))
            state = min(max(raw, -128), 127) / 16
            want.append(state)
        np.testing.assert_array_equal(mod(X8, 0.5), want)


@on_every_target
def test_arguments_results_and_constants(make):
    def round_even(v):
        return round(Fraction(v) * 4) / 4

    def sat(v):
        return min(max(math.floor(Fraction(v) * 16 + Fraction(1, 2)) / 16, -8), 7.9375)

    table = [round_even(v) for v in START.tolist()]
    want = [
        round_even(round_even(round_even(float(v)) + sat(float(v) * 100)) + t)
        for v, t in zip(XF.tolist(), table, strict=True)
    ]
    np.testing.assert_array_equal(make(called)(XF), want)


@on_every_target
def test_values_of_the_type_are_ordinary_numbers(make):
    x = np.array([0.09375, -0.03125, 5.0, 31.0])
    low = np.array(expected(x, Sat, False))
    want = np.where(low < 3, low, 2.96875) - low
    np.testing.assert_array_equal(make(chosen)(x), want.astype(np.float32))


@df.region()
def piped(a: float32[8], b: Sat[8]):
    pipe: Stream[Sat, 2]

    @df.kernel(mapping=[1], args=[a])
    def send(x: float32[8]):
        for i in range(8):
            pipe.put(x[i] * 1.5)

    @df.kernel(mapping=[1], args=[b])
    def receive(y: Sat[8]):
        for i in range(8):
            y[i] = pipe.get()


@pytest.mark.parametrize("target", ["simulator", "vhls", "verilog", "oracle"])
def test_streams_convert(target):
    a, b = X8.astype(np.float32), np.zeros(8)
    mod = (
        allo.interpret(piped)
        if target == "oracle"
        else df.build(piped, target=target, **engine(target))
    )
    mod(a, b)
    np.testing.assert_array_equal(b, expected(a * np.float32(1.5), Sat, True))


def test_the_default_modes_are_the_type_without_them():
    assert Fixed(8, 4, "truncate", "wrap") == Fixed(8, 4)
    assert Fixed(8, 4, "nearest") != Fixed(8, 4)
    assert allo.ir.types.parse_type(Sat.name) == Sat
    assert (Sat.rounding, Sat.overflow) == ("nearest", "saturate")


def test_an_unknown_mode_is_refused():
    with pytest.raises(DTypeError) as caught:
        Fixed(8, 4, rounding="up")
    assert caught.value.message == (
        "The rounding of fixed point is truncate or nearest or convergent, not 'up'."
    )
    with pytest.raises(DTypeError, match="The overflow of fixed point is wrap or saturate"):
        UFixed(8, 4, overflow="clip")


def test_an_unknown_mode_in_a_kernel_has_its_place():
    def kernel(x: float32) -> float32:
        y: Fixed(8, 4, overflow="clip") = x
        return y

    with pytest.raises(CompileTimeError, match="not 'clip'"):
        allo.customize(kernel)


def test_a_constant_that_is_no_number_is_refused():
    def kernel() -> float32:
        y: Sat = float("nan")
        return y

    with pytest.raises(TypeMismatchError):
        allo.customize(kernel)
