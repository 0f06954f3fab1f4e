"""Casts between fixed point, integers and floats, shifts and constants, on every target."""

import math
from fractions import Fraction

import numpy as np
import pytest

import allo
from allo.dialects.diagnostics import TypeMismatchError
from allo.ir.types import (
    ConstExpr,
    Fixed,
    Int,
    Stateful,
    UFixed,
    UInt,
    float16,
    float32,
    float64,
)

from .model import N, from_python, in_type, samples, to_python
from .targets import build

TARGETS = ["cpu", "csim", "jit"]
TYPES = [Fixed(8, 3), UFixed(10, 4), Fixed(12, 12), UFixed(40, 36), Fixed(16, 0), Fixed(6, 9)]
FLOATS = [(float32, np.float32), (float64, np.float64), (float16, np.float16)]


def numbers(values):
    return np.array([int(v) for v in values], np.int64)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(
    "pair", [(a, b) for a, b in zip(TYPES, TYPES[1:] + TYPES[:1], strict=True)]
)
def test_fixed_point_to_fixed_point_and_integers(target, pair, tmp_path):
    T, U = pair

    def convert(
        A: T[N], I: Int(9)[N], as_other: U[N], as_int: Int(20)[N], as_uint: UInt(5)[N], of_int: T[N]
    ):
        for i in range(N):
            as_other[i] = A[i]
            as_int[i] = A[i]
            as_uint[i] = A[i]
            of_int[i] = I[i]

    module = build(allo.customize(convert), target, tmp_path)
    rng = np.random.default_rng(T.bits)
    values, whole = samples(rng, T), rng.integers(-256, 256, N).astype(np.int16)
    other, of_int = np.empty(N), np.empty(N)
    as_int, as_uint = np.empty(N, np.int32), np.empty(N, np.uint8)
    module(values, whole, other, as_int, as_uint, of_int)
    exact = from_python(values, T)
    np.testing.assert_array_equal(other, to_python([in_type(v, U, math.floor) for v in exact]))
    np.testing.assert_array_equal(as_int, numbers(in_type(v, Int(20), math.floor) for v in exact))
    np.testing.assert_array_equal(as_uint, numbers(in_type(v, UInt(5), math.floor) for v in exact))
    np.testing.assert_array_equal(of_int, to_python(from_python(whole, T)))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("T", TYPES, ids=str)
def test_floats_to_fixed_point_and_back(target, T, tmp_path):
    def convert(
        S: float32[N],
        D: float64[N],
        H: float16[N],
        from_single: T[N],
        from_double: T[N],
        from_half: T[N],
        single: float32[N],
        double: float64[N],
        half: float16[N],
    ):
        for i in range(N):
            from_single[i] = S[i]
            from_double[i] = D[i]
            from_half[i] = H[i]
            single[i] = from_double[i]
            double[i] = from_double[i]
            half[i] = from_double[i]

    module = build(allo.customize(convert), target, tmp_path)
    rng = np.random.default_rng(T.bits)
    given = [np.clip(samples(rng, T), -65504, 65504).astype(kind) for _, kind in FLOATS]
    fixed = [np.empty(N) for _ in FLOATS]
    back = [np.zeros(N, kind) for _, kind in FLOATS]
    module(*given, *fixed, *back)
    for values, got in zip(given, fixed, strict=True):
        np.testing.assert_array_equal(got, to_python(from_python(values, T)))
    exact = to_python(from_python(given[1], T))
    for got in back:
        np.testing.assert_array_equal(got, exact.astype(got.dtype))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("T", [Fixed(8, 3), UFixed(10, 4), Fixed(40, 7)], ids=str)
def test_shifts_move_bits_within_the_type(target, T, tmp_path):
    def move(A: T[N], by: UInt(7)[N], left: T[N], right: T[N], two: T[N], half: T[N]):
        for i in range(N):
            left[i] = A[i] << by[i]
            right[i] = A[i] >> by[i]
            two[i] = A[i] << 1
            half[i] = A[i] >> 1

    module = build(allo.customize(move), target, tmp_path)
    rng = np.random.default_rng(T.bits)
    values, by = samples(rng, T), rng.integers(0, 50, N).astype(np.uint8)
    results = [np.empty(N) for _ in range(4)]
    module(values, by, *results)
    exact = from_python(values, T)
    pairs = list(zip(exact, by.tolist(), strict=True))
    want = [
        [in_type(v * 2**k, T, math.floor) for v, k in pairs],
        [in_type(v / 2**k, T, math.floor) for v, k in pairs],
        [in_type(v * 2, T, math.floor) for v in exact],
        [in_type(v / 2, T, math.floor) for v in exact],
    ]
    for got, expected in zip(results, want, strict=True):
        np.testing.assert_array_equal(got, to_python(expected))


def test_a_shift_wraps_before_it_widens():
    def shifted(A: Fixed(8, 3)[2]) -> float32[2]:
        out: float32[2]
        wide: Fixed(25, 10) = A[0] << 2
        small: Fixed(25, 10) = A[1] >> 2
        out[0] = wide
        out[1] = small
        return out

    got = allo.customize(shifted).build()(np.array([5.375, 5.375]))
    np.testing.assert_array_equal(got, np.array([-10.5, 1.25], np.float32))


TABLE = np.array([0.3, -0.3, 15.99, -16.5, 100.0, 2.0])


@pytest.mark.parametrize("target", TARGETS)
def test_constants_state_and_whole_arrays(target, tmp_path):
    T, W = Fixed(8, 3), Fixed(20, 6)

    def filter(A: T[6], x: W, out: W[6], total: W[1], seen: UInt(8)[6]):
        taps: T[6] = TABLE
        gain: ConstExpr[T] = 1.3
        count: W @ Stateful = 0.75
        bias: W = -0.3
        count += x
        for i in range(6):
            acc: W = A[i] * taps[i]
            acc += bias
            acc -= gain
            if not A[i]:
                acc = 0
            while acc > 100:
                acc = acc / 2
            out[i] = acc + i
            seen[i] = A[i].bitcast()
        total[0] = count

    module = build(allo.customize(filter), target, tmp_path)
    q = lambda v, t=W, cut=math.trunc: in_type(Fraction(v), t, cut)  # noqa: E731
    state = q(0.75)
    rng = np.random.default_rng(3)
    for x in (1.37, -2.75):
        values = rng.uniform(-16, 16, 6)
        values[2] = 0
        out, total, seen = np.empty(6), np.empty(1), np.empty(6, np.uint8)
        module(values, x, out, total, seen)
        state = q(state + q(x))
        want = []
        for i, (a, tap) in enumerate(
            zip(from_python(values, T), from_python(TABLE, T), strict=True)
        ):
            acc = q(q(a * tap) + q(-0.3)) - q(1.3, T) if a else q(0)
            while acc > 100:
                acc = q(acc / 2, cut=math.floor)
            want.append(q(acc + i))
        np.testing.assert_array_equal(out, to_python(want))
        assert total[0] == state
        np.testing.assert_array_equal(seen, [int(v * 8) & 255 for v in from_python(values, T)])


@pytest.mark.parametrize("target", TARGETS)
def test_tensor_operations(target, tmp_path):
    T = Fixed(16, 6)

    def layers(A: T[4, 5], B: T[5, 3], rows: T[4, 3], sums: T[4, 5], low: T[2, 2]):
        C: T[4, 3] = allo.matmul(A, B)
        rows[:, :] = allo.relu(C)
        sums[:, :] = A + A - 1
        filled: T[2, 2] = allo.ones((2, 2), dtype=T)
        low[:, :] = -filled

    module = build(allo.customize(layers), target, tmp_path)
    rng = np.random.default_rng(9)
    a, b = (np.trunc(rng.uniform(-300, 300, s)) / 64 for s in ((4, 5), (5, 3)))
    rows, sums, low = np.empty((4, 3)), np.empty((4, 5)), np.empty((2, 2))
    module(a, b, rows, sums, low)
    np.testing.assert_array_equal(rows, np.maximum(_matmul(a, b, T), 0))
    np.testing.assert_array_equal(sums, 2 * a - 1)
    np.testing.assert_array_equal(low, -np.ones((2, 2)))


def _matmul(a, b, dtype):
    """Products cut to the element type as they are added."""
    out = np.empty((a.shape[0], b.shape[1]))
    for i, j in np.ndindex(out.shape):
        total = Fraction(0)
        for k in range(a.shape[1]):
            total = in_type(total + Fraction(a[i, k]) * Fraction(b[k, j]), dtype, math.floor)
        out[i, j] = float(total)
    return out


@pytest.mark.parametrize(
    ("value", "said"),
    [(float("nan"), "nan has no value as fixed(8, 3)."), (float("inf"), "inf has no value as")],
)
def test_a_constant_that_is_no_number_is_refused(value, said):
    def start() -> Fixed(8, 3):
        x: Fixed(8, 3) = value
        return x

    with pytest.raises(TypeMismatchError) as caught:
        allo.customize(start)
    assert said in str(caught.value)
    assert "x: Fixed(8, 3) = value" in str(caught.value)


def test_a_constant_array_that_holds_no_numbers_is_refused():
    table = np.array([1.0, np.nan])

    def start() -> Fixed(8, 3)[2]:
        x: Fixed(8, 3)[2] = table
        return x

    with pytest.raises(TypeMismatchError) as caught:
        allo.customize(start)
    assert "has no values of type fixed(8, 3)" in str(caught.value)
    assert "help: every element must be a finite number." in str(caught.value)


@pytest.mark.parametrize("T", [Fixed(16, 13), Fixed(64, 2), UFixed(64, 2), Fixed(100, 2)])
@pytest.mark.parametrize("value", [4533842253396816009.0, 1e25, -1e30, 1e60, 2.75])
def test_constant_floats_become_what_floats_become_at_run_time(T, value):
    """Scaled, cut toward zero, the nearest of 64 bits or of one more than a wider type's, wrapped."""

    def at_run_time(x: float64) -> Int(T.bits):
        y: T = x
        return y.bitcast()

    def constant() -> Int(T.bits):
        y: T = value
        return y.bitcast()

    def in_an_array() -> Int(T.bits):
        y: T[2] = table
        return y[1].bitcast()

    table = np.array([0.0, value])
    word = T.bits < 64 or (isinstance(T, Fixed) and T.bits == 64)
    most = 1 << (63 if word else T.bits)
    whole = min(max(math.trunc(Fraction(value) * 2**T.fracs), -most), most - 1)
    want = (whole + (1 << (T.bits - 1))) % (1 << T.bits) - (1 << (T.bits - 1))
    for kernel, args in ((at_run_time, (value,)), (constant, ()), (in_an_array, ())):
        assert allo.customize(kernel).build()(*args) == want, kernel.__name__
        assert allo.interpret(kernel)(*args) == want, kernel.__name__
