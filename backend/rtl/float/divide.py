"""Division: a quotient bit a row, without restoring, correctly rounded."""

from __future__ import annotations

from allo.backend.rtl.operators.netlist import Signal, cat, mux

from .formats import FloatFormat
from .parts import (
    finish,
    normal_operand,
    round_flushed,
    round_product,
    shift_right_sticky,
    unpack,
)


def divide(a: Signal, b: Signal, kind: FloatFormat) -> Signal:
    """``a / b``; a finite number over zero is infinite."""
    net, precision = a.net, kind.precision
    left, right = unpack(a, kind), unpack(b, kind)
    bits = kind.exponent + 2
    dividend, high = normal_operand(left, bits)
    divisor, low = normal_operand(right, bits)
    quotient, inexact = _quotient(dividend, divisor, precision + 2)

    room = high - low + (kind.bias - 1)
    if kind.flush:
        magnitude, overflow, tiny = _rounded(quotient, inexact, room, kind)
    else:
        tiny = net.const(0, 1)
        negative = room.bit(-1)
        amount = (net.const(0, bits) - room) & negative.repeat(bits)
        spare = room & (~negative).repeat(bits)
        shifted = shift_right_sticky(quotient, amount, precision + 2)
        magnitude, overflow = round_product(
            shifted.bits(1, precision + 2), shifted.bit(0) | inexact, spare, kind
        )

    invalid = left.nan | right.nan | (left.zero & right.zero) | (left.top & right.top)
    infinite = left.top | right.zero
    zero = left.zero | right.top | tiny
    return finish(
        left.sign ^ right.sign,
        magnitude,
        kind,
        zero=zero & ~infinite & ~invalid,
        infinite=infinite | (overflow & ~zero),
        nan=invalid,
    )


def _rounded(
    quotient: Signal, inexact: Signal, room: Signal, kind: FloatFormat
) -> tuple[Signal, Signal, Signal]:
    """Magnitude, overflow, and whether it is tiny; the quotient's top or next bit is the first one set."""
    again = ~quotient.bit(-1)
    body = mux(again, quotient.shl(1), quotient)
    field = room - again.zext(room.width) + 1
    return round_flushed(
        field, body.bits(2, kind.fraction), body.bit(1), body.bit(0) | inexact, kind
    )


def _quotient(dividend: Signal, divisor: Signal, count: int) -> tuple[Signal, Signal]:
    """The first ``count`` bits of the quotient of two significands, the first with weight 1,
    and whether there are more."""
    net, width = dividend.net, divisor.width + 1
    one = net.const(1, 1)
    wide = divisor.zext(width)
    remainder = dividend.zext(width) - wide
    negative = remainder.bit(-1)
    quotient = [~negative]
    for _ in range(count - 1):
        addend = wide ^ (~negative).repeat(width)
        total = cat(remainder.shl(1), one) + cat(addend, ~negative)
        remainder = total.bits(1, width)
        negative = remainder.bit(-1)
        quotient.append(~negative)
    return cat(*quotient), mux(negative, ~sums_to_zero(remainder, wide), remainder.any())


def sums_to_zero(a: Signal, b: Signal) -> Signal:
    """Whether ``a + b`` is zero, without a carry chain."""
    return ((a ^ b) ^ (a | b).shl(1)).none()
