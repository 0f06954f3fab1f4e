"""Values known while compiling: what they are as another type, and what operations on them give.

A value folded here is the one that the operation has when it runs (docs/internals/core_ir.md, "Arithmetic").
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from allo.dialects.core.integers import truncating_division
from allo.dialects.diagnostics import CompileTimeError, SourcePlace, TypeMismatchError
from allo.dialects.ranges.interval import of_bits
from allo.dialects.types import AlloType, Float, Int

from ..tree import Const
from .integers import is_integer, range_of, smallest_int, wrap

MOST_LITERAL_BITS = 4096
"""Bits past which a shifted literal is refused rather than computed."""
_EXPONENTS = {16: (-14, 15), 32: (-126, 127), 64: (-1022, 1023)}


# --- conversions ---------------------------------------------------------------------------


def nearest_float(value: float, dtype: Float) -> float:
    """The value of a floating-point type nearest to a number, ties to even; past the last, infinity."""
    if isinstance(value, float) and not math.isfinite(value):
        return value
    exact = abs(Fraction(value))
    if not exact:
        return float(value)
    least, most = _EXPONENTS[32 if dtype.name == "bf16" else dtype.bits]
    exponent = exact.numerator.bit_length() - exact.denominator.bit_length()
    if exact < Fraction(2) ** exponent:
        exponent -= 1
    step = Fraction(2) ** (max(exponent, least) - dtype.mantissa)
    rounded = round(exact / step) * step
    size = float(rounded) if rounded < Fraction(2) ** (most + 1) else math.inf
    return math.copysign(size, -1 if value < 0 else 1)


def nearest_integer(value: float, dtype: AlloType) -> int:
    """A float toward zero as an integer type; the nearest value where it is out of range, 0 for NaN."""
    if math.isnan(value):
        return 0
    low, high = range_of(dtype)
    if isinstance(dtype, Int):
        low, high = of_bits(dtype.bits)
    if value <= low:
        return low
    return high if value >= high else math.trunc(value)


def number(value: Const) -> int | float:
    """What a constant counts as beside others: one bit is 0 or 1, signed or not."""
    if value.dtype == Int(1):
        return int(value.value) & 1
    return value.value


def cast(value: Const, dtype: AlloType) -> Const:
    """A number as an integer or floating-point type.

    Raises:
        TypeMismatchError: when the type holds no numbers.
    """
    given = number(value)
    if isinstance(dtype, Float):
        return Const(dtype, value.place, nearest_float(given, dtype))
    if not is_integer(dtype):
        raise TypeMismatchError(
            f"A number cannot become {dtype} here.",
            value.place,
            help="assign a number to a field or an element of it.",
        )
    if isinstance(given, float):
        return Const(dtype, value.place, nearest_integer(given, dtype))
    return Const(dtype, value.place, wrap(given, dtype))


# --- operations ------------------------------------------------------------------------------


def fold(op: str, lhs: Const, rhs: Const, dtype: AlloType, place: SourcePlace) -> Const | None:
    """``lhs op rhs`` of type ``dtype``; None where it is left to run time.

    An expression of literals is exact, and takes the integer type that holds it.
    """
    compute = _EXACT.get(op)
    if compute is None or (op in ("/", "//", "%") and rhs.value == 0):
        return None
    both_literal = lhs.literal and rhs.literal
    if isinstance(dtype, Float):
        return _fold_floats(compute, lhs, rhs, dtype, place) if both_literal else None
    if op in ("min", "max") and not both_literal:
        lhs, rhs = cast(lhs, dtype), cast(rhs, dtype)
    a, b = number(lhs), number(rhs)
    if isinstance(a, float) or isinstance(b, float):
        return None
    exact = _INTEGER.get(op, compute)(a, b)
    if wrap(exact, dtype) != exact and both_literal:
        return Const(smallest_int(exact), place, exact, literal=True)
    return Const(dtype, place, wrap(exact, dtype), literal=both_literal)


def _fold_floats(
    compute: Callable[..., Any], lhs: Const, rhs: Const, dtype: Float, place: SourcePlace
) -> Const | None:
    try:
        return Const(dtype, place, float(compute(lhs.value, rhs.value)), literal=True)
    except (OverflowError, ValueError, TypeError):
        return None


_EXACT: dict[str, Callable[..., Any]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "//": lambda a, b: a // b,
    "%": math.fmod,
    "**": lambda a, b: float(a) ** float(b),
    "&": lambda a, b: a & b,
    "|": lambda a, b: a | b,
    "^": lambda a, b: a ^ b,
    "min": min,
    "max": max,
}
_INTEGER: dict[str, Callable[..., Any]] = {
    "/": truncating_division,
    "%": lambda a, b: a - b * truncating_division(a, b),
}


def fold_shift(op: str, lhs: Const, rhs: Const, dtype: AlloType, place: SourcePlace) -> Const:
    """``lhs << rhs`` or ``lhs >> rhs`` for an amount that is not negative.

    Raises:
        CompileTimeError: for a literal with more bits than any use has.
    """
    value, amount = int(number(lhs)), int(rhs.value)
    exact_wanted = lhs.literal and rhs.literal
    if op == ">>":
        return Const(dtype, place, wrap(value >> amount, dtype), literal=exact_wanted)
    if not exact_wanted:
        shifted = 0 if amount >= dtype.bits else value << amount
        return Const(dtype, place, wrap(shifted, dtype))
    if value and amount > MOST_LITERAL_BITS:
        raise CompileTimeError(
            f"A literal shifted by {amount} has more than {MOST_LITERAL_BITS} bits.",
            place,
            help="shift a variable: what passes its width is shifted out.",
        )
    exact = value << amount
    fits = wrap(exact, dtype) == exact
    return Const(dtype if fits else smallest_int(exact), place, exact, literal=True)


def compare(op: str, lhs: Const, rhs: Const, dtype: AlloType) -> bool:
    """A comparison in ``dtype``, the type that holds both; of literals, of their exact values."""
    if isinstance(dtype, Float) and not (lhs.literal and rhs.literal):
        lhs, rhs = cast(lhs, dtype), cast(rhs, dtype)
    return _COMPARE[op](number(lhs), number(rhs))


_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}
