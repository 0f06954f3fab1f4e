"""Bits of integers: read, stored, counted, put in the other order."""

from __future__ import annotations

from allo.dialects.diagnostics import SourcePlace, TypeMismatchError
from allo.dialects.ranges.interval import INDEX_BITS
from allo.dialects.types import AlloType, Index, Int, UInt, bits_type

from ..tree import Binary, Const, Expr, Math
from . import operations as ops
from .integers import is_integer, wrap


def bit_range(value: Expr, low: Expr, width: int | Expr, place: SourcePlace) -> Expr:
    """``value[low : low + width]`` as UInt(width); as UInt(32) where the width is a run-time value."""
    raw = _raw(value, place)
    shifted = _shift_raw(">>", raw, low, place)
    if isinstance(width, int):
        return ops.cast(shifted, bits_type(width), place)
    field = Binary(raw.dtype, place, "&", shifted, _low_ones(raw.dtype, width, place))
    return ops.cast(field, UInt(32), place)


def with_bits(value: Expr, low: Expr, width: int | Expr, bits: Expr, place: SourcePlace) -> Expr:
    """``value`` with ``value[low : low + width]`` replaced by the low bits of ``bits``."""
    raw = _raw(value, place)
    dtype = raw.dtype
    ones = _low_ones(dtype, width, place)
    mask = _shift_raw("<<", ones, low, place)
    if isinstance(width, int):
        bits = ops.cast(ops.cast(bits, bits_type(width)), dtype)
    else:
        bits = Binary(dtype, place, "&", ops.cast(bits, dtype), ones)
    field = _shift_raw("<<", bits, low, place)
    keep: Expr = Binary(dtype, place, "^", mask, Const(dtype, place, (1 << dtype.bits) - 1))
    if isinstance(mask, Const):
        keep = Const(dtype, place, (1 << dtype.bits) - 1 - int(mask.value))
    kept = Binary(dtype, place, "&", raw, keep)
    return ops.cast(Binary(dtype, place, "|", kept, field), value.dtype, place)


def _low_ones(dtype: AlloType, width: int | Expr, place: SourcePlace) -> Expr:
    """A mask of the lowest ``width`` bits."""
    if isinstance(width, int):
        return Const(dtype, place, (1 << width) - 1)
    ones = Const(dtype, place, (1 << dtype.bits) - 1)
    rest = Binary(dtype, place, "<<", ones, ops.cast(width, dtype))
    return Binary(dtype, place, "^", rest, ones)


def _raw(value: Expr, place: SourcePlace) -> Expr:
    if not isinstance(value.dtype, (Int, UInt)):
        raise TypeMismatchError(
            f"Bits of a value of type {value.dtype} cannot be accessed.",
            place,
            help="only integers have bits; use x.bitcast() to see those of another value.",
        )
    return ops.cast(value, bits_type(value.dtype.bits))


def _shift_raw(op: str, value: Expr, low: Expr, place: SourcePlace) -> Expr:
    dtype = value.dtype
    if isinstance(low, Const):
        if low.value == 0:
            return value
        if isinstance(value, Const) and op == "<<":
            return Const(dtype, place, wrap(int(value.value) << int(low.value), dtype))
        return Binary(dtype, place, op, value, Const(dtype, place, int(low.value)))
    return Binary(dtype, place, op, value, ops.cast(low, dtype))


def reverse_bits(value: Expr, place: SourcePlace) -> Expr:
    """The bits of an integer in the opposite order."""
    if not isinstance(value.dtype, (Int, UInt)):
        raise TypeMismatchError(
            f"Can only reverse integers, not {value.dtype}.",
            place,
            help="read its bits first, as x.bitcast(int32) of a float32.",
        )
    width = value.dtype.bits
    raw = _raw(value, place)
    total: Expr | None = None
    for position in range(width):
        moved = _move_bit(raw, position, width - 1 - position, place)
        total = moved if total is None else Binary(raw.dtype, place, "|", total, moved)
    assert total is not None
    return ops.cast(total, value.dtype, place)


def _move_bit(raw: Expr, source: int, target: int, place: SourcePlace) -> Expr:
    dtype = raw.dtype
    picked = Binary(dtype, place, "&", raw, Const(dtype, place, 1 << source))
    if source == target:
        return picked
    op, amount = ("<<", target - source) if target > source else (">>", source - target)
    return Binary(dtype, place, op, picked, Const(dtype, place, amount))


def population_count(value: Expr, place: SourcePlace) -> Expr:
    """How many bits of an integer are one: an unsigned integer just wide enough for all of them.

    Raises:
        TypeMismatchError: the value is no integer.
    """
    if not is_integer(value.dtype):
        raise TypeMismatchError(
            f"allo.popcount counts the bits of an integer, not of {value.dtype}.",
            place,
            help="x.bitcast() is the integer behind a value.",
        )
    bits = INDEX_BITS if isinstance(value.dtype, Index) else value.dtype.bits
    raw = UInt(bits)
    counted = Math(raw, place, "ctpop", (ops.cast(value, raw, place),))
    return ops.cast(counted, UInt(bits.bit_length()), place)
