"""Rounding and saturation of fixed point, as operations on integers."""

from __future__ import annotations

from allo.dialects.diagnostics import SourcePlace
from allo.dialects.rounding import raw_range
from allo.dialects.types import AlloType, FixedPoint, Int, UInt

from ..tree import Binary, Cast, Compare, Const, Expr


def shifted(number: Expr, steps: int, dtype: AlloType, place: SourcePlace) -> Expr:
    """An integer that counts in finer steps, 2^-steps of the type's, in the type's own; rounded.

    ``number`` has a bit to spare for rounding, and those for a shift to the left.
    """
    assert isinstance(dtype, FixedPoint)
    wide = number.dtype

    def of(op: str, lhs: Expr, rhs: Expr | int) -> Expr:
        return Binary(
            wide, place, op, lhs, Const(wide, place, rhs) if isinstance(rhs, int) else rhs
        )

    if steps <= 0:
        return of("<<", number, -steps) if steps else number
    if steps >= wide.bits:
        # Nothing but the sign is left: too small for a half.
        below = of(">>", number, wide.bits - 1)
        return below if dtype.rounding == "truncate" else Const(wide, place, 0)
    if dtype.rounding == "truncate":
        return of(">>", number, steps)
    half = 1 << (steps - 1)
    if dtype.rounding == "nearest":
        return of(">>", of("+", number, half), steps)
    odd = of("&", of(">>", number, steps), 1)
    return of(">>", of("+", of("+", number, half - 1), odd), steps)


def rounded_half(twice: Expr, held: Int, dtype: AlloType, place: SourcePlace) -> Expr:
    """A float that is twice the count of the type's steps, as that count; rounded.

    ``held`` has every such float that the conversion keeps; others become the nearest integer of it.
    """
    assert isinstance(dtype, FixedPoint)
    wide = Int(held.bits + 1)  # rounding down the least integer needs one more bit
    cut = Cast(wide, place, Cast(held, place, twice))
    back = Cast(twice.dtype, place, cut)
    bit = UInt(1)
    one = Const(wide, place, 1)

    def flag(op: str) -> Expr:
        return Cast(wide, place, Compare(bit, place, op, back, twice))

    def of(op: str, lhs: Expr, rhs: Expr) -> Expr:
        return Binary(wide, place, op, lhs, rhs)

    if dtype.rounding == "truncate":
        negative = of("&", of(">>", cut, Const(wide, place, wide.bits - 1)), one)
        return of(">>", of("+", cut, negative), one)
    floor = of("-", cut, flag(">"))
    up = of("+", of(">>", floor, one), of("&", floor, one))
    if dtype.rounding == "nearest":
        return up
    tie = of("&", of("&", floor, flag("==")), up)
    return of("-", up, of("&", tie, one))


def clamped(number: Expr, dtype: AlloType, place: SourcePlace) -> Expr:
    """An integer within the range of the type, where the type saturates."""
    assert isinstance(dtype, FixedPoint)
    if dtype.overflow == "wrap":
        return number
    wide = Int(max(number.dtype.bits, dtype.bits + 1))
    held: Expr = number if number.dtype == wide else Cast(wide, place, number)
    low, high = raw_range(dtype)
    least = Binary(wide, place, "max", held, Const(wide, place, low))
    return Binary(wide, place, "min", least, Const(wide, place, high))
