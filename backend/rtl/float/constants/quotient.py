"""Quotients by constants.

The significand is multiplied by a reciprocal of the constant (:mod:`.reciprocal`). A constant of at least
1 makes results subnormal: they are shifted right by what their exponent lacks, at most the constant's
exponent. One below 1 makes operands normal: what was shifted out to the right of a subnormal one comes
back, as far as the exponent has grown.
"""

from __future__ import annotations

from collections.abc import Callable

from allo.backend.rtl.operators.families.counts import leading_zeros
from allo.backend.rtl.operators.netlist import Signal, cat, mux

from ..formats import FloatFormat
from ..parts import Unpacked, shift_left, shift_right_sticky, unpack
from .reciprocal import Constant, Reciprocal

Multiple = Callable[[Signal], Signal]
"""Exact product of a significand and the reciprocal's factor."""


def divide_by(
    a: Signal, by: Constant, reciprocal: Reciprocal, kind: FloatFormat, multiple: Multiple
) -> Signal:
    """``a / by``, the bits of the division."""
    net, exponent = a.net, kind.exponent
    value = unpack(a, kind)
    digits = _digits(multiple(value.significand), reciprocal, kind)
    body, sticky, spare = _scaled(value, digits, by, reciprocal, kind)

    # `spare` is the field of a result whose top digit is clear; the top digit adds 1 to it.
    top = body.bit(-1)
    stay = net.const(1, 1) if by.odd == 1 else top
    if not kind.flush:
        stay = stay | spare.none()
    fraction = mux(stay, body.bits(2, kind.fraction), body.bits(1, kind.fraction))
    up = body.bit(1)
    if by.even_integer and not kind.flush:
        up = up & (fraction.bit(0) | body.bit(0) | sticky)
    up = mux(stay, up, body.bit(0))
    carries = cat(top.zext(spare.width), up.zext(kind.fraction))
    magnitude = cat(spare, fraction) + carries
    field = magnitude.bits(kind.fraction, spare.width)

    # What the exponent has grown beyond the digits of an operand is left to a zero.
    zero = value.zero if -by.exponent > kind.fraction else net.const(0, 1)
    if kind.flush:
        zero = (value.zero | field.bit(-1) | field.none()) & ~value.top
    infinite = value.top
    if by.exponent < 0:
        large = field.bits(0, exponent).all() | field.bit(exponent)
        infinite = infinite | (large & ~zero)
    nan = value.nan
    sign = ~value.sign if by.negative else value.sign
    keep = ~(zero | infinite)
    low = magnitude.bits(0, kind.fraction) & keep.repeat(kind.fraction)
    return cat(
        sign & ~nan,
        (field.bits(0, exponent) & (~zero).repeat(exponent)) | infinite.repeat(exponent),
        low.bit(-1) | nan,
        low.bits(0, kind.fraction - 1),
    )


def _digits(product: Signal, reciprocal: Reciprocal, kind: FloatFormat) -> Signal:
    """The product from the digit that is set where the quotient of the significands is at least 1."""
    length = reciprocal.places + kind.precision - reciprocal.odd.bit_length() + 1
    return product.bits(0, length)


def _first(digits: Signal, count: int) -> Signal:
    """So many digits, the first ones."""
    missing = count - digits.width
    if missing > 0:
        return cat(digits, digits.net.const(0, missing))
    return digits.bits(-missing, count)


def _scaled(
    value: Unpacked, digits: Signal, by: Constant, reciprocal: Reciprocal, kind: FloatFormat
) -> tuple[Signal, Signal, Signal]:
    """The digits that are rounded, whether there are more, and the field of a result without the first one.

    A flushed format's field is signed. Otherwise the first digit is clear where the result is subnormal, and
    the field is 0 then.
    """
    net, bits, count = digits.net, kind.exponent + 1, kind.precision + 2
    nothing = net.const(0, 1)
    if kind.flush:
        return _first(digits, count), nothing, value.exponent.zext(bits + 1) - (by.exponent + 1)
    effective = value.effective.zext(bits)
    if by.exponent < 0:
        grown = -by.exponent
        most = min(grown, kind.fraction)
        zeros = leading_zeros(value.significand.bits(kind.precision - most, most))
        shifted = shift_left(_first(digits, count + most), zeros, limit=most)
        spare = effective + (grown - 1) - zeros.zext(bits)
        return shifted.bits(most, count), nothing, spare
    body = _first(digits, count)
    more = _first(digits, kind.precision + 1 + reciprocal.tail)
    sticky = more.bits(0, reciprocal.tail - 1).any() if reciprocal.tail > 1 else nothing
    room = effective - (by.exponent + 1)
    lacks = room.bit(-1)
    spare = room.bits(0, kind.exponent) & (~lacks).repeat(kind.exponent)
    if by.exponent == 0:
        return body, sticky, spare
    amount = net.const(by.exponent + 1, bits) - effective
    amount = amount.bits(0, by.exponent.bit_length()) & lacks.repeat(by.exponent.bit_length())
    shifted = shift_right_sticky(body, amount, count)
    return shifted.bits(1, count), shifted.bit(0) | sticky, spare
