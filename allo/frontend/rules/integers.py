"""Questions about integer types, and values in two's complement."""

from __future__ import annotations

from allo.dialects.core.integers import as_signed
from allo.dialects.ranges.interval import INDEX_BITS, INDEX_RANGE, Interval, of_bits, within
from allo.dialects.types import AlloType, Fixed, Index, Int, UInt, int32


def is_integer(dtype: AlloType) -> bool:
    """Whether a type is Int, UInt or Index."""
    return isinstance(dtype, (Int, UInt, Index))


def same_bits(one: AlloType, other: AlloType) -> bool:
    """Whether two types are Int or UInt of one width, so that one reads the bits of the other."""
    plain = isinstance(one, (Int, UInt)) and isinstance(other, (Int, UInt))
    return plain and one.bits == other.bits


def is_signed(dtype: AlloType) -> bool:
    """Whether values of an integer type may be negative; iterators may."""
    return isinstance(dtype, (Int, Index))


def smallest_int(value: int) -> Int:
    """The narrowest of int32, int64, int128 … that holds ``value``."""
    width = 32
    while not -(1 << (width - 1)) <= value < 1 << (width - 1):
        width *= 2
    return int32 if width == 32 else Int(width)


def range_of(dtype: AlloType) -> Interval:
    """Least and greatest value of an integer type; one bit is 0 or 1, signed or not."""
    if isinstance(dtype, Index):
        return INDEX_RANGE
    return of_bits(dtype.bits, signed=isinstance(dtype, Int) and dtype.bits > 1)


def is_exact_index(dtype: AlloType) -> bool:
    """Whether every value of an integer type is an index."""
    return is_integer(dtype) and within(range_of(dtype), INDEX_RANGE)


def wrap(value: int, dtype: AlloType) -> int:
    """``value`` in two's complement of the width of an integer type, or of a fixed-point type's bits.

    The single bit of an integer is 0 or 1, signed or not.
    """
    if dtype == Int(1):
        return value & 1
    if isinstance(dtype, Index):
        return as_signed(value, INDEX_BITS)
    if isinstance(dtype, (Int, Fixed)):
        return as_signed(value, dtype.bits)
    return value & ((1 << dtype.bits) - 1)
