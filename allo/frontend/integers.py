"""Questions about integer types, and values in two's complement."""

from __future__ import annotations

from allo.dialects.integers import as_signed
from allo.dialects.types import AlloType, Fixed, Index, Int, UInt, int32


def is_integer(dtype: AlloType) -> bool:
    """Whether a type is Int, UInt or Index."""
    return isinstance(dtype, (Int, UInt, Index))


def is_signed(dtype: AlloType) -> bool:
    """Whether values of an integer type may be negative; iterators may."""
    return isinstance(dtype, (Int, Index))


def smallest_int(value: int) -> Int:
    """The narrowest of int32, int64, int128 … that holds ``value``."""
    width = 32
    while not -(1 << (width - 1)) <= value < 1 << (width - 1):
        width *= 2
    return int32 if width == 32 else Int(width)


def wrap(value: int, dtype: AlloType) -> int:
    """``value`` in two's complement of the width of an integer type, or of a fixed-point type's bits."""
    if isinstance(dtype, Index):
        return value
    if isinstance(dtype, (Int, Fixed)):
        return as_signed(value, dtype.bits)
    return value & ((1 << dtype.bits) - 1)
