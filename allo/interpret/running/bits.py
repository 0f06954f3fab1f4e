"""Bit patterns: slices of bits, and the pattern behind a value."""

from __future__ import annotations

from typing import Any

from allo.dialects.types import AlloType, Float

from .casts import width
from .formats import encode, format_of


def get_bits(value: int, low: int, bits: int) -> int:
    """``bits`` bits from bit ``low`` on, as an unsigned number."""
    return value >> low & ((1 << bits) - 1)


def set_bits(value: int, low: int, bits: int, part: int) -> int:
    """The value with ``bits`` bits from ``low`` on replaced; it still has to wrap."""
    mask = (1 << bits) - 1
    return value & ~(mask << low) | (part & mask) << low


def to_bits(value: Any, dtype: AlloType) -> int:
    """The pattern behind a value, as an unsigned number."""
    if isinstance(dtype, Float):
        return encode(value, format_of(dtype))
    return int(value) & ((1 << width(dtype)) - 1)
