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
    """The state before the rows, of which an even number is left.

    Above what moves, the highest first: sign, magnitude and zero of ``a``; whether the result is NaN; whether
    it is ``a``; the exponent of ``b``, three times its significand, and that.
    """
    left, right = unpack(a, kind), unpack(b, kind)
    bits = kind.exponent + 2
    dividend, high = normal_operand(left, bits)
    divisor, low = normal_operand(right, bits)
    distance = high - low
    smaller = distance.bit(-1)
    wide = divisor.zext(kind.precision + 2)
    first = _reduced(dividend.zext(kind.precision + 2), wide)
    rest = mux(distance.bit(0), _reduced(first.shl(1), wide), first).bits(0, kind.precision)
    pairs = cat(distance.bits(1, bits - 2), a.net.const(0, 1))
    count = pairs & (~smaller).repeat(bits - 1)
    invalid = left.nan | right.nan | left.top | right.zero
    keeps = smaller | right.top
    triple = wide + wide.shl(1)
    fixed = cat(left.sign, left.magnitude, left.zero, invalid, keeps, low, triple, divisor)
    return cat(fixed, rest, count)


def several(state: Signal, kind: FloatFormat, number: int) -> Signal:
    """What moves of a state after so many rows more: one, or pairs of rows."""
    net, precision, bits = state.net, kind.precision, kind.exponent + 1
    width = precision + 3
    count, rest = state.bits(0, bits), state.bits(bits, precision)
    divisor = state.bits(bits + precision, precision).zext(width)
    triple = state.bits(bits + 2 * precision, precision + 2).zext(width)
    for position in range(0, number, 2):
        scaled = rest.zext(width).shl(min(2, number))
        reduced = _reduced(scaled, divisor)
        if number > 1:
            twice = scaled - divisor.shl(1)
            reduced = mux(twice.bit(-1), reduced, _reduced(scaled, triple, twice))
        rest = mux(count.ult(position + 1), rest, reduced.bits(0, precision))
    left = mux(count.ult(number), net.const(0, bits), count - number)
    return cat(rest, left)


def at_once(a: Signal, b: Signal, kind: FloatFormat) -> Signal:
    """The remainder as one drawing, with all rows."""
    state, moving, number = begin(a, b, kind), moving_bits(kind), rows(kind)
    moved = several(state, kind, number + number % 2)
    return end(cat(state.bits(moving, state.width - moving), moved), kind)


def _reduced(value: Signal, multiple: Signal, otherwise: Signal | None = None) -> Signal:
    """A value less a multiple of the divisor where that is not negative, else what is given, or itself."""
    difference = value - multiple
    return mux(difference.bit(-1), value if otherwise is None else otherwise, difference)


def end(state: Signal, kind: FloatFormat) -> Signal:
    """The result: ``a - b * trunc(a / b)``, with the sign of ``a``."""
    net, precision = state.net, kind.precision
    at = kind.exponent + 1

    def take(width: int) -> Signal:
        nonlocal at
        at += width
        return state.bits(at - width, width)

    rest, _, _ = take(precision), take(precision), take(precision + 2)
    low = take(kind.exponent + 2)
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
