"""The typing tables of docs/language.md: the type of an operation from those of its operands.

An integer counts as fixed point without fraction bits, so that one formula serves a whole table;
``tests/interpret/test_tables.py`` reads the tables of the document and compares every entry.
"""

from __future__ import annotations

import functools
import warnings

from allo.dialects.types import (
    AlloType,
    Fixed,
    Float,
    Index,
    Int,
    UFixed,
    UInt,
    float32,
    float64,
    index,
)


@functools.cache
def int_type(bits: int, signed: bool) -> AlloType:
    """``Int(bits)`` or ``UInt(bits)``, silently also where the result of a rule is very wide."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return Int(bits) if signed else UInt(bits)


@functools.cache
def fixed_type(bits: int, fracs: int, signed: bool) -> AlloType:
    """``Fixed(bits, fracs)`` or ``UFixed(bits, fracs)``."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return Fixed(bits, fracs) if signed else UFixed(bits, fracs)


UINT1 = int_type(1, False)


def is_integer(dtype: AlloType) -> bool:
    """Whether a type is an integer or index."""
    return isinstance(dtype, (Int, UInt, Index))


def is_fixed(dtype: AlloType) -> bool:
    """Whether a type is fixed point."""
    return isinstance(dtype, (Fixed, UFixed))


def is_number(dtype: AlloType) -> bool:
    """Whether a type has arithmetic."""
    return is_integer(dtype) or is_fixed(dtype) or isinstance(dtype, Float)


def is_signed(dtype: AlloType) -> bool:
    """Whether the tables count the type as signed; Index is unsigned there."""
    return isinstance(dtype, (Int, Fixed))


def result_type(operator: str, left: AlloType, right: AlloType) -> AlloType | None:
    """The type of ``left operator right``, or None where no rule joins them.

    ``operator`` is one of ``+ - * / // % << >> & | ^ **`` or ``select``, which also stands for
    comparisons, ``min`` and ``max``.
    """
    if not (is_number(left) and is_number(right)):
        return None
    if operator == "**":
        return _power(left, right)
    if operator in ("<<", ">>"):
        return None if isinstance(left, Float) or not is_integer(right) else left
    if operator in ("&", "|", "^"):
        return _bitwise(left, right)
    if isinstance(left, Float) or isinstance(right, Float):
        return _wider_float(left, right)
    if isinstance(left, Index) and isinstance(right, Index):
        return index
    if operator == "*":
        signed = is_signed(left) or is_signed(right)
        return _make(left, right, left.bits + right.bits, left.fracs + right.fracs, signed)
    if operator in ("/", "//"):
        return _quotient(left, right)
    return _common(left, right, 1 if operator in ("+", "-") else 0)


def _make(left: AlloType, right: AlloType, bits: int, fracs: int, signed: bool) -> AlloType:
    if is_fixed(left) or is_fixed(right):
        return fixed_type(bits, fracs, signed)
    return int_type(bits, signed)


def _wider_float(left: AlloType, right: AlloType) -> AlloType:
    if not isinstance(right, Float):
        return left
    if not isinstance(left, Float):
        return right
    return right if right.bits > left.bits else left


def _common(left: AlloType, right: AlloType, growth: int) -> AlloType:
    signed = is_signed(left) or is_signed(right)
    whole = max(t.bits - t.fracs + (1 if signed and not is_signed(t) else 0) for t in (left, right))
    fracs = max(left.fracs, right.fracs)
    return _make(left, right, whole + fracs + growth, fracs, signed)


def _quotient(left: AlloType, right: AlloType) -> AlloType:
    signed = is_signed(left) or is_signed(right)
    if is_fixed(left) or is_fixed(right):
        if is_fixed(left):
            fracs = right.bits - right.fracs + left.fracs
            extra = is_signed(left) != is_signed(right) and not isinstance(right, Fixed)
        else:
            fracs = max(left.bits - right.fracs, 0)
            extra = is_signed(left) and not is_signed(right)
        return fixed_type(left.bits + right.bits + (1 if extra else 0), fracs, signed)
    if isinstance(left, Index):
        return int_type(32, True) if is_signed(right) else index
    return int_type(left.bits, signed)


def _bitwise(left: AlloType, right: AlloType) -> AlloType | None:
    if not (is_integer(left) and is_integer(right)):
        return None
    if isinstance(left, Index) and isinstance(right, Index):
        return index
    return int_type(max(left.bits, right.bits), is_signed(left) or is_signed(right))


def _power(left: AlloType, right: AlloType) -> AlloType:
    if isinstance(left, Float) and isinstance(right, Float):
        return _wider_float(left, right)
    return float64 if left.bits > 32 else float32


def unary_type(dtype: AlloType) -> AlloType:
    """The type of ``-x``, ``+x`` and ``~x``."""
    return int_type(dtype.bits, True) if isinstance(dtype, UInt) else dtype


@functools.cache
def literal_type(value: int) -> AlloType:
    """The type of an integer literal: int32, or the narrowest of int64, int128 … that holds it."""
    bits = 32
    while not -(1 << (bits - 1)) <= value < 1 << (bits - 1):
        bits *= 2
    return int_type(bits, True)
