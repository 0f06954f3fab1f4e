"""Numbers in a fixed-point type that rounds or saturates."""

from __future__ import annotations

import math
from fractions import Fraction

from .ranges.interval import of_bits
from .types import Fixed, FixedPoint


def raw_range(dtype: FixedPoint) -> tuple[int, int]:
    """The least and the greatest raw value."""
    return of_bits(dtype.bits, signed=isinstance(dtype, Fixed))


def quantised(
    exact: Fraction | int, dtype: FixedPoint, *, is_float: bool, float_bits: int | None = None
) -> int:
    """The raw value of a number, rounded, and wrapped or saturated.

    Args:
        is_float: the number is a float, which is cut toward zero rather than down.
        float_bits: the width of the integer that a float becomes before it wraps; None for no limit.
    """
    doubled = exact * (1 << (dtype.fracs + 1))
    twice = math.floor(doubled)
    is_exact = doubled == twice
    if float_bits is not None:
        twice = min(max(twice, -(1 << float_bits)), (1 << float_bits) - 1)
    if dtype.rounding == "truncate":
        whole = twice >> 1
        if is_float and twice < 0 and (twice & 1 or not is_exact):
            whole += 1
    else:
        whole = (twice + 1) >> 1
        if dtype.rounding == "convergent" and twice & 1 and is_exact and whole & 1:
            whole -= 1
    low, high = raw_range(dtype)
    if dtype.overflow == "saturate":
        return min(max(whole, low), high)
    return (whole - low) % (1 << dtype.bits) + low
