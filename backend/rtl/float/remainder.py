"""The remainder of division towards zero (C's fmod), exact."""

from __future__ import annotations

from allo.backend.rtl.operators.families.counts import leading_zeros
from allo.backend.rtl.operators.netlist import Signal, cat, mux

from .formats import FloatFormat
from .parts import finish, normal_operand, shift_left, shift_right_sticky, unpack


def remainder(a: Signal, b: Signal, kind: FloatFormat) -> Signal:
    """``a - b * trunc(a / b)``, with the sign of ``a``.

    A row for each power of two that can lie between the operands: hundreds for f32.
    """
    net, precision = a.net, kind.precision
    left, right = unpack(a, kind), unpack(b, kind)
    bits = kind.exponent + 2
    dividend, high = normal_operand(left, bits)
    divisor, low = normal_operand(right, bits)
    distance = high - low
    smaller = distance.bit(-1)

    width = precision + 1
    wide = divisor.zext(width)
    rest = dividend.zext(width)
    largest = kind.top_exponent - 2 + kind.fraction
    for step in reversed(range(largest + 1)):
        active = ~distance.slt(step) & ~smaller
        difference = rest - wide
        reduced = mux(difference.bit(-1), rest, difference)
        if step:
            reduced = reduced.shl(1)
        rest = mux(active, reduced, rest)

    # The rest lies below the divisor and has its exponent: normalise, or denormalise.
    magnitude = _packed(rest.bits(0, precision), low, kind)
    magnitude = mux(smaller, left.magnitude, magnitude)
    invalid = left.nan | right.nan | left.top | right.zero
    zero = rest.none() & ~smaller & ~right.top
    kept = right.top & ~left.top
    magnitude = mux(kept, left.magnitude, magnitude)
    if kind.flush:
        zero = zero | left.zero | magnitude.bits(kind.fraction, kind.exponent).none()
    return finish(
        left.sign,
        magnitude,
        kind,
        zero=zero & ~invalid,
        infinite=net.const(0, 1),
        nan=invalid,
    )


def _packed(significand: Signal, exponent: Signal, kind: FloatFormat) -> Signal:
    """Magnitude of an exact significand whose top bit has the exponent field ``exponent``."""
    net, bits = significand.net, exponent.width
    zeros = leading_zeros(significand).zext(bits)
    room = exponent - 1
    down = room.bit(-1)
    limited = room.slt(zeros)
    left = mux(limited, room, zeros) & (~down).repeat(bits)
    right = (net.const(0, bits) - room) & down.repeat(bits)
    moved = shift_right_sticky(shift_left(significand, left), right, significand.width)
    spare = (room - left) & (~down).repeat(bits)
    value = moved.bits(1, significand.width)
    hidden = value.bit(-1).zext(kind.exponent)
    return cat(spare.bits(0, kind.exponent) + hidden, value.bits(0, kind.fraction))
