"""Structs as words: fields side by side, the first in the lowest bits.

Arguments and results of a function hold a Struct in one integer of its width, as NumPy's values cross the
boundary and as one port carries them. Reading a field selects its bits, storing one replaces them.
"""

from __future__ import annotations

from collections.abc import Mapping

from allo.dialects.diagnostics import SourcePlace
from allo.dialects.types import AlloType, Block, Float, Struct, UInt, bits_type
from allo.frontend.rules import bit_fields

from ..tree import Binary, Bitcast, Cast, Const, Expr
from . import fixed
from . import operations as ops

type Step = str | Expr
"""What leads into a Struct: the name of a field, or the lowest bit of an element of an array in one."""


def word(value: Expr) -> Expr:
    """The integer behind a value of a Struct type."""
    return Cast(bits_type(value.dtype.bits), value.place, value)


def low_bit(dtype: Struct, name: str) -> int:
    """Where a field begins."""
    if isinstance(dtype, Block):
        return int(name) * dtype.element.bits
    names = list(dtype.fields)
    return sum(dtype.fields[before].bits for before in names[: names.index(name)])


def field(value: Expr, name: str, place: SourcePlace) -> Expr:
    """One field of a value of a Struct type."""
    dtype = value.dtype
    assert isinstance(dtype, Struct)
    low = Const(ops.INDEX, place, low_bit(dtype, name))
    kind = dtype.fields[name]
    return from_bits(bit_fields.bit_range(word(value), low, kind.bits, place), kind, place)


def element(value: Expr, low: Expr, place: SourcePlace) -> Expr:
    """The element of an array in a Struct that begins at a bit."""
    dtype = value.dtype
    assert isinstance(dtype, Block)
    kind = dtype.element
    return from_bits(bit_fields.bit_range(word(value), low, kind.bits, place), kind, place)


def packed(values: Mapping[str, Expr], dtype: Struct, place: SourcePlace) -> Expr:
    """A value of a Struct type from its fields, each already of its type."""
    whole = bits_type(dtype.bits)
    total: Expr | None = None
    for name in dtype.fields:
        part = ops.cast(bits_of(values[name], place), whole)
        low = low_bit(dtype, name)
        if low:
            part = Binary(whole, place, "<<", part, Const(whole, place, low))
        total = part if total is None else Binary(whole, place, "|", total, part)
    assert total is not None
    return Cast(dtype, place, total)


def at(value: Expr, step: Step, place: SourcePlace) -> Expr:
    """A field by its name, or an element of an array in a Struct by its lowest bit."""
    return field(value, step, place) if isinstance(step, str) else element(value, step, place)


def with_field(value: Expr, path: tuple[Step, ...], part: Expr, place: SourcePlace) -> Expr:
    """``value`` with one field replaced: that of the last step, in the Structs that the others name."""
    dtype, (step, *inner) = value.dtype, path
    assert isinstance(dtype, Struct)
    if inner:
        part = with_field(at(value, step, place), tuple(inner), part, place)
    low: Expr
    if isinstance(step, str):
        kind, low = dtype.fields[step], Const(ops.INDEX, place, low_bit(dtype, step))
    else:
        assert isinstance(dtype, Block)
        kind, low = dtype.element, step
    bits = bits_of(ops.cast(part, kind, place), place)
    return Cast(dtype, place, bit_fields.with_bits(word(value), low, kind.bits, bits, place))


def bits_of(value: Expr, place: SourcePlace) -> Expr:
    """A scalar, or a Struct, as the unsigned integer of its bits."""
    if isinstance(value.dtype, Struct):
        return word(value)
    if isinstance(value.dtype, Float):
        return Bitcast(UInt(value.dtype.bits), place, value)
    return ops.cast(fixed.raw(value), UInt(value.dtype.bits))


def from_bits(bits: Expr, dtype: AlloType, place: SourcePlace) -> Expr:
    """The value of a type, a Struct included, whose bits are those of an integer of its width."""
    if isinstance(dtype, Struct):
        return Cast(dtype, place, ops.cast(bits, bits_type(dtype.bits)))
    if isinstance(dtype, Float):
        return Bitcast(dtype, place, bits)
    if fixed.is_fixed(dtype):
        return fixed.of_raw(ops.cast(bits, fixed.raw_type(dtype)), dtype, place)
    return ops.cast(bits, dtype)
