"""The remainder of division towards zero (C's fmod), exact, a bit of the quotient at a time.

A subtraction for each power of two that can lie between the operands: hundreds for float32, thousands for
float64. So :func:`begin` makes a state of the operands, :func:`several` does some of the rows, again and
again, and :func:`end` makes the result of the state.
"""

from __future__ import annotations

from allo.backend.rtl.operators.families.counts import leading_zeros
from allo.backend.rtl.operators.netlist import Signal, cat, mux

from .formats import FloatFormat
from .parts import finish, normal_operand, shift_left, shift_right_sticky, unpack


def rows(kind: FloatFormat) -> int:
    """The most rows that a remainder takes."""
    return kind.top_exponent - 2 + kind.fraction


def moving_bits(kind: FloatFormat) -> int:
    """Bits of the state, its lowest, that rows change: what is left, and how many rows are."""
    return kind.precision + kind.exponent + 1


def begin(a: Signal, b: Signal, kind: FloatFormat) -> Signal:
    """The state before the rows.

    Above what moves, the highest first: sign, magnitude and zero of ``a``; whether the result is NaN; whether
    it is ``a``; the exponent and the significand of ``b``.
    """
    left, right = unpack(a, kind), unpack(b, kind)
    bits = kind.exponent + 2
    dividend, high = normal_operand(left, bits)
    divisor, low = normal_operand(right, bits)
    distance = high - low
    smaller = distance.bit(-1)
    difference = dividend.zext(kind.precision + 1) - divisor.zext(kind.precision + 1)
    rest = mux(difference.bit(-1), dividend, difference.bits(0, kind.precision))
    count = distance.bits(0, bits - 1) & (~smaller).repeat(bits - 1)
    invalid = left.nan | right.nan | left.top | right.zero
    keeps = smaller | right.top
    fixed = cat(left.sign, left.magnitude, left.zero, invalid, keeps, low, divisor)
    return cat(fixed, rest, count)


def several(state: Signal, kind: FloatFormat, number: int) -> Signal:
    """What moves of a state after so many rows more."""
    net, precision, bits = state.net, kind.precision, kind.exponent + 1
    count, rest = state.bits(0, bits), state.bits(bits, precision)
    divisor = state.bits(bits + precision, precision).zext(precision + 1)
    for position in range(number):
        doubled = cat(rest, net.const(0, 1))
        difference = doubled - divisor
        going = ~count.ult(position + 1)
        kept = mux(going, doubled.bits(0, precision), rest)
        rest = mux(going & ~difference.bit(-1), difference.bits(0, precision), kept)
    left = mux(count.ult(number), net.const(0, bits), count - number)
    return cat(rest, left)


def end(state: Signal, kind: FloatFormat) -> Signal:
    """The result: ``a - b * trunc(a / b)``, with the sign of ``a``."""
    net, precision = state.net, kind.precision
    at = kind.exponent + 1

    def take(width: int) -> Signal:
        nonlocal at
        at += width
        return state.bits(at - width, width)

    rest, _, low = take(precision), take(precision), take(kind.exponent + 2)
    keeps, invalid, nothing = take(1), take(1), take(1)
    own, sign = take(kind.width - 1), take(1)
    # The rest lies below the divisor and has its exponent: normalise, or denormalise.
    magnitude = mux(keeps, own, _packed(rest, low, kind))
    zero = rest.none() & ~keeps
    if kind.flush:
        zero = zero | nothing | magnitude.bits(kind.fraction, kind.exponent).none()
    return finish(
        sign, magnitude, kind, zero=zero & ~invalid, infinite=net.const(0, 1), nan=invalid
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
