"""Operators on integers: every pair of values of small types, against formulas written here."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

import allo
from allo.ir.types import (
    AlloType,
    Fixed,
    Int,
    UFixed,
    UInt,
    float16,
    float32,
    float64,
    index,
    int8,
    int32,
    int64,
)

SMALL: list[AlloType] = [Int(2), Int(4), UInt(1), UInt(3), UInt(4)]


def values_of(dtype: AlloType) -> range:
    half = 1 << (dtype.bits - 1)
    return range(-half, half) if isinstance(dtype, (Int, Fixed)) else range(2 * half)


def wrapped(value: int, bits: int, signed: bool) -> int:
    """Two's complement, bit by bit."""
    total = sum((value >> k & 1) << k for k in range(bits))
    return total - (1 << bits) if signed and total >> (bits - 1) else total


def kernel(expression: str, left: AlloType, right: AlloType, result: AlloType) -> Any:
    text = f"def f(x: L, y: R) -> Out:\n    return {expression}\n"
    names = {"L": left, "R": right, "Out": result, "S": int8}
    return allo.interpret(text, global_vars=names)


def toward_zero(a: int, b: int) -> int:
    return math.trunc(Fraction(a, b)) if b else -1


def down(a: int, b: int) -> int:
    return math.floor(Fraction(a, b)) if b else -1


def rest(a: int, b: int) -> int:
    return a - b * math.trunc(Fraction(a, b)) if b else a


ARITHMETIC: dict[str, Callable[[int, int], int]] = {
    "x + y": lambda a, b: a + b,
    "x - y": lambda a, b: a - b,
    "x * y": lambda a, b: a * b,
    "x == y": lambda a, b: int(a == b),
    "x < y": lambda a, b: int(a < b),
    "x >= y": lambda a, b: int(a >= b),
    "min(x, y)": min,
    "max(x, y)": max,
    "x % y": rest,
    "x and y": lambda a, b: int(bool(a) and bool(b)),
    "x or not y": lambda a, b: int(bool(a) or not b),
    "y if x else x": lambda a, b: b if a else a,
    "x < y <= x": lambda a, b: int(a < b <= a),
}


@pytest.mark.parametrize("expression", ARITHMETIC)
def test_what_always_fits(expression: str) -> None:
    """Where the rule's type holds every result, an operation is the mathematical one."""
    for left, right in product(SMALL, SMALL):
        if expression == "x - y" and isinstance(left, UInt) and isinstance(right, UInt):
            continue
        run = kernel(expression, left, right, int64)
        for a, b in product(values_of(left), values_of(right)):
            assert run(a, b) == ARITHMETIC[expression](a, b), (left, right, a, b)


@pytest.mark.parametrize(("symbol", "exact"), [("/", toward_zero), ("//", down)])
def test_division(symbol: str, exact: Callable[[int, int], int]) -> None:
    for left, right in product(SMALL, SMALL):
        run = kernel(f"x {symbol} y", left, right, int64)
        signed = isinstance(left, Int) or isinstance(right, Int)
        for a, b in product(values_of(left), values_of(right)):
            wanted = wrapped(exact(a, b), left.bits, signed)
            if left.bits == 1:
                wanted &= 1  # a single bit is zero-extended where it is widened
            assert run(a, b) == wanted, (left, right, a, b)


def test_unsigned_difference_wraps() -> None:
    run = kernel("x - y", UInt(3), UInt(4), int64)
    for a, b in product(range(8), range(16)):
        assert run(a, b) == (a - b) % 32


@pytest.mark.parametrize("symbol", ["&", "|", "^"])
def test_bits(symbol: str) -> None:
    for left, right in product(SMALL, SMALL):
        bits = max(left.bits, right.bits)
        signed = isinstance(left, Int) or isinstance(right, Int)
        run = kernel(f"x {symbol} y", left, right, int64)
        for a, b in product(values_of(left), values_of(right)):
            table = {"&": a & b, "|": a | b, "^": a ^ b}
            assert run(a, b) == wrapped(table[symbol], bits, signed), (left, right, a, b)


@pytest.mark.parametrize("amount", [Int(4), UInt(4), index])
def test_shifts(amount: AlloType) -> None:
    for left in (Int(4), UInt(3)):
        signed = isinstance(left, Int)
        up, low = kernel("x << y", left, amount, int64), kernel("x >> y", left, amount, int64)
        for a, n in product(values_of(left), (-3, -1, 0, 1, 2, 3, 4, 7)):
            if n < 0 and isinstance(amount, UInt):
                continue
            out = n < 0 or n >= left.bits
            assert up(a, n) == (0 if out else wrapped(a << n, left.bits, signed))
            assert low(a, n) == (-int(a < 0) if out else a >> n)


def test_unary() -> None:
    for dtype in SMALL:
        for a in values_of(dtype):
            assert kernel("-x", dtype, dtype, int64)(a, 0) == _one_bit(-a, dtype)
            assert kernel("~x", dtype, dtype, int64)(a, 0) == _one_bit(~a, dtype)
            assert kernel("abs(x)", dtype, dtype, int64)(a, 0) == wrapped(
                abs(a), dtype.bits, isinstance(dtype, Int)
            )


def _one_bit(value: int, dtype: AlloType) -> int:
    """The value in Int(bits); a single bit is zero-extended where it is widened."""
    found = wrapped(value, dtype.bits, True)
    return found & 1 if dtype.bits == 1 else found


def test_select_and_reverse_bits() -> None:
    for dtype in (Int(6), UInt(6)):
        run = kernel("x[1:4] * 2 + x[y]", dtype, UInt(2), int64)
        turned = kernel("x.reverse()", dtype, UInt(2), int64)
        for a, k in product(values_of(dtype), range(4)):
            assert run(a, k) == (a >> 1 & 7) * 2 + (a >> k & 1)
            mirror = int(f"{a & 63:06b}"[::-1], 2)
            assert turned(a, k) == wrapped(mirror, 6, isinstance(dtype, Int))


def test_casts_of_integers() -> None:
    for source, target in product([Int(5), UInt(5)], [Int(3), UInt(3), Int(9), UInt(9), index]):
        run = kernel("x", source, UInt(1), target)
        bits = 64 if target is index else target.bits
        for a in values_of(source):
            assert run(a, 0) == wrapped(a, bits, not isinstance(target, UInt))


def test_float_to_integer() -> None:
    for target, low, high in ((Int(4), -8, 7), (UInt(4), 0, 15), (UInt(1), 0, 1)):
        run = kernel("x", float32, UInt(1), target)
        for value in (0.0, 0.9, -0.9, 3.5, -3.5, 7.99, 8.0, 15.5, 16.0, 1e30, -1e30):
            assert run(value, 0) == min(max(math.trunc(value), low), high)
        assert run(math.nan, 0) == 0
        assert (run(math.inf, 0), run(-math.inf, 0)) == (high, low)


def test_integer_to_float_rounds_once() -> None:
    run = kernel("x", int64, UInt(1), float32)
    for value in (16777217, 16777219, -16777217, 2**62 + 2**38 + 1, 2**62 + 2**38, 2**63 - 1):
        assert run(value, 0) == float(np.float32(np.int64(value)))
    half = kernel("x", int32, UInt(1), float16)
    assert half(65519, 0) == 65504.0
    assert half(65520, 0) == math.inf


def test_fixed_point_is_exact() -> None:
    left, right = Fixed(5, 2), UFixed(4, 3)
    run = {s: kernel(f"x {s} y", left, right, Fixed(60, 20)) for s in ("+", "-", "*", "%")}
    less = kernel("x < y", left, right, int32)
    for a, b in product(values_of(left), values_of(right)):
        x, y = Fraction(a, 4), Fraction(b, 8)
        assert run["+"](float(x), float(y)) == x + y
        assert run["-"](float(x), float(y)) == x - y
        assert run["*"](float(x), float(y)) == x * y
        assert run["%"](float(x), float(y)) == (x - y * math.trunc(x / y) if y else x)
        assert less(float(x), float(y)) == (x < y)


def test_fixed_point_division() -> None:
    """Fixed(5, 2) / Fixed(4, 1) is Fixed(9, 5): 4 - 1 + 2 fraction bits."""
    quotient = kernel("x / y", Fixed(5, 2), Fixed(4, 1), Fixed(9, 5))
    floor = kernel("x // y", Fixed(5, 2), Fixed(4, 1), Fixed(9, 5))
    for a, b in product(range(-16, 16), range(-8, 8)):
        x, y = Fraction(a, 4), Fraction(b, 2)
        if not b:
            assert (quotient(float(x), 0.0), floor(float(x), 0.0)) == (-1 / 32, -1.0)
            continue
        assert quotient(float(x), float(y)) * 32 == wrapped(math.trunc(x / y * 32), 9, True)
        assert floor(float(x), float(y)) * 32 == wrapped(math.floor(x / y) * 32, 9, True)


def test_casts_of_fixed_point() -> None:
    to_int = kernel("x", Fixed(6, 3), UInt(1), Int(2))
    narrow = kernel("x", Fixed(6, 3), UInt(1), UFixed(4, 1))
    from_float = kernel("x", float64, UInt(1), Fixed(6, 3))
    for a in range(-32, 32):
        assert to_int(a / 8, 0) == wrapped(a >> 3, 2, True)
        assert narrow(a / 8, 0) == wrapped(a >> 2, 4, False) / 2
        for more in (0, 0.4, 0.9):
            value = (a + more) / 8
            assert from_float(value, 0) == wrapped(math.trunc(value * 8), 6, True) / 8


@pytest.mark.parametrize(
    ("x", "y", "quotient"),
    [(1.0, 0.1, 10.0), (-7.0, 2.0, -4.0), (7.0, -2.0, -4.0), (3.0, 0.0, math.inf), (-0.5, 9.0, -1)],
)
def test_floor_division_of_floats_rounds_twice(x: float, y: float, quotient: float) -> None:
    """1 over the number nearest to 0.1 lies below 10, and the nearest float is 10."""
    assert kernel("x // y", float64, float64, float64)(x, y) == quotient


def test_a_single_bit_is_0_or_1() -> None:
    names = ["x + y", "x - y", "x < y", "min(x, y)", "max(x, y)", "x / y", "x * 3", "x << y"]
    wanted = {
        (0, 0): [0, 0, 0, 0, 0, 1, 0, 0],
        (0, 1): [1, -1, 1, 0, 1, 0, 0, 0],
        (1, 0): [1, 1, 0, 0, 1, 1, 3, 1],
        (1, 1): [-2, 0, 0, 1, 1, 1, 3, 0],
    }
    found = [kernel(name, Int(1), Int(1), int32) for name in names]
    for (a, b), values in wanted.items():
        assert [run(a, b) for run in found] == values, (a, b)
    assert kernel("x", Int(1), Int(1), float32)(1, 0) == 1.0


def test_an_index_may_be_wider_than_it_counts() -> None:
    """Index and UInt(8) are UInt(33), in which -1 is 2**33 - 1."""
    run = kernel("x + y", index, UInt(8), int64)
    assert [run(-1, 1), run(-1, 0), run(2**40 + 3, 2)] == [0, 2**33 - 1, 5]
    assert kernel("x * y", index, Int(8), int64)(2**32 + 1, -128) == 2**39 - 128


def test_literals_take_the_type_of_what_they_meet() -> None:
    assert kernel("x * 0.1", float64, UInt(1), float64)(3.0, 0) == 3.0 * 0.1
    single = float(np.float32(3.0) * np.float32(0.1))
    assert kernel("x * 0.1", float32, UInt(1), float64)(3.0, 0) == single
    assert kernel("0.1", float32, UInt(1), float64)(3.0, 0) == 0.1
    assert kernel("2**40 + x", int8, UInt(1), int64)(1, 0) == float(np.float32(2**40 + 1))
    assert kernel("(1 << 40) + x", int8, UInt(1), int64)(1, 0) == 2**40 + 1


def test_a_wrong_rule_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    from allo.interpret.running import integers

    monkeypatch.setattr(integers, "truncating", lambda a, b: a // b if b else -1)
    with pytest.raises(AssertionError):
        test_division("/", toward_zero)
