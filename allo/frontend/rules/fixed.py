"""Fixed-point operations, written as operations on the integers that hold the values.

A value of ``Fixed(b, f)`` is an integer of ``b`` bits, its *raw* value, times 2^-f. Every operation becomes
integer arithmetic here, so that the core IR, the schedule and the back ends know integers only; the
declared type stays on variables and parameters, for the Python boundary and for reports. A
:class:`Const` of a fixed-point type holds the raw value.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TypeGuard

from allo.dialects import rounding
from allo.dialects.diagnostics import SourcePlace, TypeMismatchError
from allo.dialects.ranges.interval import INDEX_BITS, within
from allo.dialects.types import (
    AlloType,
    Fixed,
    FixedPoint,
    Float,
    Index,
    Int,
    UFixed,
    UInt,
    float32,
    float64,
)

from ..checks.spans import span_of
from ..tree import Binary, Cast, Compare, Const, Expr
from . import modes
from .integers import is_integer, range_of, wrap

_SINGLE_BITS = 100
"""Up to so many bits, whole or fraction, float32 scales by a power of two without overflow."""
_WHOLE_BITS = 64
"""A float becomes an integer of at least this width before it wraps to the fixed-point type's."""


def is_fixed(dtype: AlloType) -> bool:
    """Whether a type is Fixed or UFixed."""
    return isinstance(dtype, (Fixed, UFixed))


def has_modes(dtype: AlloType) -> TypeGuard[FixedPoint]:
    """Whether a conversion to a type rounds or saturates."""
    return isinstance(dtype, FixedPoint) and dtype.has_modes


def raw_type(dtype: AlloType) -> AlloType:
    """The integer type of the raw values of a fixed-point type; any other type as it is.

    Of one signed bit it is Int(2), for single bits extend by zeros everywhere in the language.
    """
    if not is_fixed(dtype):
        return dtype
    return Int(max(dtype.bits, 2)) if isinstance(dtype, Fixed) else UInt(dtype.bits)


def raw(value: Expr) -> Expr:
    """The raw value of a fixed-point expression; an integer as it is."""
    if not is_fixed(value.dtype):
        return value
    dtype = raw_type(value.dtype)
    if isinstance(value, Const):
        return Const(dtype, value.place, value.value)
    if dtype.bits != value.dtype.bits:
        zero = Const(dtype, value.place, 0)
        return Binary(dtype, value.place, "-", zero, Cast(dtype, value.place, value))
    if isinstance(value, Cast) and value.value.dtype == dtype:
        return value.value
    return Cast(dtype, value.place, value)


def of_raw(value: Expr, dtype: AlloType, place: SourcePlace) -> Expr:
    """The fixed-point value whose raw value this is."""
    if isinstance(value, Const):
        return Const(dtype, place, wrap(int(value.value), dtype))
    return Cast(dtype, place, value)


def quantised(value: int | float, dtype: AlloType) -> int:
    """The raw value of a number: scaled by 2^f, cut toward zero, wrapped to the width.

    A float becomes the nearest integer of :func:`_whole_type` before it wraps, as it does at run time.
    """
    if has_modes(dtype):
        is_float = isinstance(value, float)
        limit = _whole_type(dtype).bits if is_float else None
        return rounding.quantised(Fraction(value), dtype, is_float=is_float, float_bits=limit)
    whole = math.trunc(Fraction(value) * (1 << dtype.fracs))
    if isinstance(value, float):
        low, high = range_of(_whole_type(dtype))
        whole = min(max(whole, low), high)
    return wrap(whole, dtype)


def number_of(value: int, dtype: AlloType) -> float:
    """The number a raw value stands for, as the nearest float."""
    return float(Fraction(value, 1 << dtype.fracs))


# --- conversions ---------------------------------------------------------------------------


def cast(value: Expr, dtype: AlloType, place: SourcePlace) -> Expr:
    """``value`` as ``dtype``, where one of the two types is fixed point.

    Raises:
        TypeMismatchError: when no conversion exists, or a constant is NaN or infinite.
    """
    if isinstance(value, Const):
        return _cast_constant(value, dtype)
    if has_modes(dtype):
        return _with_modes(value, dtype, place)
    if isinstance(dtype, Float):
        return _to_float(value, dtype, place)
    if not is_fixed(dtype):
        return _resized(_scaled(raw(value), -value.dtype.fracs, place), dtype)
    if isinstance(value.dtype, Float):
        return _from_float(value, dtype, place)
    return of_raw(_aligned(value, raw_type(dtype), dtype.fracs, place), dtype, place)


def _cast_constant(value: Const, dtype: AlloType) -> Const:
    if not is_fixed(value.dtype):
        if not math.isfinite(value.value):
            raise TypeMismatchError(
                f"{value.value} has no value as {dtype}.", value.place, help="give a finite number."
            )
        return Const(dtype, value.place, quantised(value.value, dtype))
    exact = Fraction(int(value.value), 1 << value.dtype.fracs)
    if isinstance(dtype, Float):
        return Const(dtype, value.place, float(exact))
    if has_modes(dtype):
        return Const(dtype, value.place, rounding.quantised(exact, dtype, is_float=False))
    return Const(dtype, value.place, wrap(math.floor(exact * (1 << dtype.fracs)), dtype))


def _from_float(value: Expr, dtype: AlloType, place: SourcePlace) -> Expr:
    """Scaled, cut toward zero, wrapped: exact while the scaled value fits in 64 bits."""
    wide = _scaling_float(value.dtype, dtype)
    number = _resized(value, wide)
    if dtype.fracs:
        number = Binary(wide, place, "*", number, Const(wide, place, 2.0**dtype.fracs))
    whole = Cast(_whole_type(dtype), place, number)
    return of_raw(_resized(whole, raw_type(dtype)), dtype, place)


def _with_modes(value: Expr, dtype: AlloType, place: SourcePlace) -> Expr:
    """A number in a fixed-point type that rounds or saturates."""
    if not isinstance(value.dtype, Float):
        number = raw(value)
        held = INDEX_BITS if isinstance(number.dtype, Index) else number.dtype.bits
        wide = Int(held + max(dtype.fracs - value.dtype.fracs, 0) + 2)
        whole = modes.shifted(_resized(number, wide), value.dtype.fracs - dtype.fracs, dtype, place)
    else:
        wide_float = _scaling_float(value.dtype, dtype)
        scale = Const(wide_float, place, 2.0 ** (dtype.fracs + 1))
        twice = Binary(wide_float, place, "*", _resized(value, wide_float), scale)
        whole = modes.rounded_half(twice, Int(_whole_type(dtype).bits + 1), dtype, place)
    return of_raw(_resized(modes.clamped(whole, dtype, place), raw_type(dtype)), dtype, place)


def _whole_type(dtype: AlloType) -> Int:
    """The integer that a float becomes before it wraps to a fixed-point type."""
    fits = dtype.bits < _WHOLE_BITS or raw_type(dtype) == Int(_WHOLE_BITS)
    return Int(_WHOLE_BITS if fits else dtype.bits + 1)


def _to_float(value: Expr, dtype: Float, place: SourcePlace) -> Expr:
    wide = _scaling_float(dtype, value.dtype)
    if dtype.bits < 32 and value.dtype.bits > float32.mantissa + 1:
        wide = float64
    number: Expr = Cast(wide, place, raw(value))
    if value.dtype.fracs:
        scale = Const(wide, place, 2.0**-value.dtype.fracs)
        number = Binary(wide, place, "*", number, scale)
    return _resized(number, dtype)


def _scaling_float(dtype: AlloType, fixed: AlloType) -> Float:
    """The format in which a float of ``dtype`` is multiplied by the scale of ``fixed``."""
    wide = dtype.bits > 32 or fixed.bits > _SINGLE_BITS or fixed.fracs > _SINGLE_BITS
    return float64 if wide else float32


def _resized(value: Expr, dtype: AlloType) -> Expr:
    """An integer or float as another of its kind: extended, or cut to its low bits."""
    if value.dtype == dtype:
        return value
    if isinstance(value, Const) and is_integer(dtype):
        return Const(dtype, value.place, wrap(int(value.value), dtype))
    return Cast(dtype, value.place, value)


def _scaled(value: Expr, steps: int, place: SourcePlace) -> Expr:
    """An integer times 2^steps in its own width, rounded down."""
    dtype = value.dtype
    if steps == 0:
        return value
    if isinstance(value, Const):
        number = int(value.value)
        return Const(dtype, place, wrap(number << steps if steps > 0 else number >> -steps, dtype))
    amount = abs(steps)
    if amount >= dtype.bits:
        if steps > 0 or not isinstance(dtype, Int):
            return Const(dtype, place, 0)
        amount = dtype.bits - 1
    op = "<<" if steps > 0 else ">>"
    return Binary(dtype, place, op, value, Const(dtype, place, amount)) if amount else value


def _aligned(value: Expr, dtype: AlloType, fracs: int, place: SourcePlace) -> Expr:
    """A number as an integer of type ``dtype`` that counts in steps of 2^-fracs."""
    steps = fracs - value.dtype.fracs
    if steps >= 0:
        return _scaled(_resized(raw(value), dtype), steps, place)
    return _resized(_scaled(raw(value), steps, place), dtype)


# --- operations --------------------------------------------------------------------------


def binary(op: str, lhs: Expr, rhs: Expr, dtype: AlloType, place: SourcePlace) -> Expr:
    """``lhs op rhs`` for ``+ - * / // %``, ``min`` and ``max`` in fixed-point type ``dtype``."""
    if op in ("/", "//"):
        return _divide(op, lhs, rhs, dtype, place)
    kind = raw_type(dtype)
    if op == "*":
        left, right = _resized(raw(lhs), kind), _resized(raw(rhs), kind)
    elif op in ("min", "max"):
        left, right = (raw(v if v.dtype == dtype else cast(v, dtype, place)) for v in (lhs, rhs))
    else:
        left = _aligned(lhs, kind, dtype.fracs, place)
        right = _aligned(rhs, kind, dtype.fracs, place)
    return of_raw(Binary(kind, place, op, left, right), dtype, place)


def _divide(op: str, lhs: Expr, rhs: Expr, dtype: AlloType, place: SourcePlace) -> Expr:
    """The quotient cut toward zero to the result's fraction bits; of ``//``, its floor."""
    left, right = lhs.dtype, rhs.dtype
    shifts = max(right.fracs - left.fracs, 0), max(left.fracs - right.fracs, 0)
    if op == "/":
        shifts = dtype.fracs - left.fracs + right.fracs, 0
    width = max(left.bits + shifts[0], right.bits + shifts[1])
    signs = [isinstance(side, (Int, Fixed)) for side in (left, right)]
    if isinstance(dtype, Fixed) or any(signs):
        both_signed = all(signs)
        wide: AlloType = Int(width if both_signed and width == dtype.bits else width + 1)
    else:
        wide = UInt(max(width, dtype.bits))  # so that a divisor of zero gives all bits one
    dividend = _scaled(_resized(raw(lhs), wide), shifts[0], place)
    divisor = _scaled(_resized(raw(rhs), wide), shifts[1], place)
    quotient = _resized(Binary(wide, place, op, dividend, divisor), raw_type(dtype))
    if op == "//":
        quotient = _scaled(quotient, dtype.fracs, place)
    return of_raw(quotient, dtype, place)


def compare(
    op: str, lhs: Expr, rhs: Expr, common: AlloType, bit: AlloType, place: SourcePlace
) -> Expr:
    """A comparison of two numbers in a fixed-point type that holds both."""
    kind = raw_type(common)
    if not (_fits_its_count(lhs) and _fits_its_count(rhs)):
        kind = Int(max(common.bits + 1, INDEX_BITS + common.fracs))
    left = _aligned(lhs, kind, common.fracs, place)
    return Compare(bit, place, op, left, _aligned(rhs, kind, common.fracs, place))


def _fits_its_count(value: Expr) -> bool:
    """Whether a value fits the bits that its type counts in the tables: an index counts 32."""
    if not isinstance(value.dtype, Index):
        return True
    span = span_of(value)
    return span is not None and within(span, range_of(UInt(value.dtype.bits)))


def negated(value: Expr, place: SourcePlace) -> Expr:
    """``-value`` in its own type."""
    number = raw(value)
    zero = Const(number.dtype, place, 0)
    return of_raw(Binary(number.dtype, place, "-", zero, number), value.dtype, place)
