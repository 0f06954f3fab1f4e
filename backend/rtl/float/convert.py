"""Conversions between formats, and between integers of any width and floats."""

from __future__ import annotations

from allo.backend.rtl.operators.families.counts import leading_zeros
from allo.backend.rtl.operators.families.divide import negated_if
from allo.backend.rtl.operators.netlist import Signal, cat, mux

from .formats import FloatFormat
from .parts import (
    Unpacked,
    finish,
    normal_operand,
    round_flushed,
    round_pack,
    shift_left,
    shift_right_sticky,
    unpack,
)


def convert(a: Signal, source: FloatFormat, target: FloatFormat) -> Signal:
    """``a`` in another format, rounded to nearest even; NaN becomes the canonical NaN."""
    value = unpack(a, source)
    bits = max(source.exponent, target.exponent) + 2
    offset = target.bias - source.bias
    if target.flush:
        return _converted_flushed(value, offset, bits, target)
    room = value.effective.zext(bits) + (offset - 1)
    significand = value.significand
    sticky = a.net.const(0, 1)
    if target.exponent > source.exponent:
        if offset < source.precision:
            raise ValueError(f"{source.name} has subnormals that {target.name} lacks the range for")
        significand, exponent = normal_operand(value, bits)
        room = exponent + (offset - 1)
    significand = _at_least(significand, target.precision + 1)
    if target.exponent < source.exponent:
        significand, room, sticky = _denormalised(significand, room)
    magnitude, overflow = _rounded(significand, room, sticky, target)
    return finish(
        value.sign,
        magnitude,
        target,
        zero=value.zero,
        infinite=value.top | overflow,
        nan=value.nan,
    )


def _converted_flushed(value: Unpacked, offset: int, bits: int, target: FloatFormat) -> Signal:
    """:func:`convert` where subnormals of both formats are zeros."""
    significand, exponent = normal_operand(value, bits)
    wide = _at_least(significand, target.precision + 2)
    low = wide.width - target.precision
    fraction, guard = wide.bits(low, target.fraction), wide.bit(low - 1)
    rest = wide.bits(0, low - 1).any()
    magnitude, overflow, tiny = round_flushed(exponent + offset, fraction, guard, rest, target)
    return finish(
        value.sign,
        magnitude,
        target,
        zero=(value.zero | tiny) & ~value.top,
        infinite=value.top | (overflow & ~value.zero),
        nan=value.nan,
    )


def _at_least(value: Signal, width: int) -> Signal:
    return cat(value, value.net.const(0, max(0, width - value.width)))


def _denormalised(significand: Signal, room: Signal) -> tuple[Signal, Signal, Signal]:
    negative = room.bit(-1)
    amount = (room.net.const(0, room.width) - room) & negative.repeat(room.width)
    shifted = shift_right_sticky(significand, amount, significand.width)
    return shifted.bits(1, significand.width), room & (~negative).repeat(room.width), shifted.bit(0)


def _rounded(
    significand: Signal, room: Signal, sticky: Signal, kind: FloatFormat
) -> tuple[Signal, Signal]:
    """Magnitude and overflow of a significand whose top bit has exponent field ``room + 1``."""
    low = significand.width - kind.precision
    rest = sticky | significand.bits(0, low - 1).any() if low > 1 else sticky
    magnitude = round_pack(
        room.bits(0, kind.exponent),
        significand.bits(low, kind.precision),
        significand.bit(low - 1),
        rest,
        kind,
    )
    return magnitude, ~room.slt(kind.top_exponent - 1)


def from_integer(a: Signal, kind: FloatFormat, *, signed: bool) -> Signal:
    """The integer ``a`` rounded to the format; too large a one becomes infinite."""
    net = a.net
    sign = a.bit(-1) if signed else net.const(0, 1)
    size = negated_if(sign, a) if signed else a
    zeros = leading_zeros(size)
    normal = _at_least(shift_left(size, zeros, limit=max(1, a.width - 1)), kind.precision + 1)
    bits = max(kind.exponent, zeros.width) + 2
    room = net.const(kind.bias + a.width - 2, bits) - zeros.zext(bits)
    if kind.bias + a.width < kind.top_exponent:
        # none is too large, and zero has no exponent: nothing is behind the sum that rounds
        room = room & size.any().repeat(bits)
        magnitude, _ = _rounded(normal, room, net.const(0, 1), kind)
        return cat(sign, magnitude)
    magnitude, overflow = _rounded(normal, room, net.const(0, 1), kind)
    return finish(
        sign,
        magnitude,
        kind,
        zero=size.none(),
        infinite=overflow & size.any(),
        nan=net.const(0, 1),
    )


def to_integer(a: Signal, kind: FloatFormat, width: int, *, signed: bool) -> Signal:
    """The float truncated towards zero; out of range saturates, NaN is 0."""
    net = a.net
    value = unpack(a, kind)
    bits = max(kind.exponent, width.bit_length()) + 2
    power = value.exponent.zext(bits) - kind.bias
    limit = width - 1 if signed else width
    large = (~power.slt(limit)) | value.top
    fraction = power.bit(-1)
    lined = _top_bits(value.significand, width)
    amount = net.const(width - 1, bits) - power
    whole = lined
    for level in range((width - 1).bit_length()):
        whole = mux(amount.bit(level), whole.shru(1 << level), whole)
    whole = whole & (~fraction).repeat(width)
    if signed:
        limit_value = cat(value.sign, (~value.sign).repeat(width - 1)) if width > 1 else value.sign
        result = mux(large, limit_value, negated_if(value.sign, whole))
    else:
        result = (whole | large.repeat(width)) & (~value.sign).repeat(width)
    return result & (~value.nan).repeat(width)


def _top_bits(value: Signal, width: int) -> Signal:
    if value.width >= width:
        return value.bits(value.width - width, width)
    return cat(value, value.net.const(0, width - value.width))
