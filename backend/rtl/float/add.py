"""Addition and subtraction.

One path: order the operands by magnitude, align the smaller with a sticky bit, add or subtract,
normalise by the leading zeros (never below the smallest exponent, which is what makes
subnormal results), round.
"""

from __future__ import annotations

from allo.backend.rtl.operators.families.counts import leading_zeros
from allo.backend.rtl.operators.netlist import Signal, cat, mux

from .formats import FloatFormat
from .parts import finish, round_pack, shift_left, shift_right_sticky, unpack


def add(a: Signal, b: Signal, kind: FloatFormat) -> Signal:
    """``a + b``."""
    net = a.net
    precision = kind.precision
    left, right = unpack(a, kind), unpack(b, kind)
    swap = left.magnitude.ult(right.magnitude)
    equal = left.magnitude.eq(right.magnitude)
    subtract = left.sign ^ right.sign

    sign = mux(swap, right.sign, left.sign)
    exponent = mux(swap, right.effective, left.effective)
    large = mux(swap, right.significand, left.significand)
    small = mux(swap, left.significand, right.significand)
    distance = mux(swap, right.effective - left.effective, left.effective - right.effective)

    # sum: carry, significand, guard, round, sticky
    two = net.const(0, 2)
    aligned = shift_right_sticky(cat(small, two), distance, precision + 2)
    width = precision + 4
    first = cat(net.const(0, 1), large, two, net.const(0, 1))
    second = aligned.zext(width) ^ subtract.repeat(width)
    total = (cat(first, net.const(1, 1)) + cat(second, subtract)).bits(1, width)

    zeros = leading_zeros(total)
    bits = max(zeros.width, kind.exponent)
    zeros, room = zeros.zext(bits), exponent.zext(bits)
    shift = mux(room.ult(zeros), room, zeros)
    normal = shift_left(total, shift, limit=precision + 3)
    rest_exponent = (room - shift).bits(0, kind.exponent)
    magnitude = round_pack(
        rest_exponent,
        normal.bits(4, precision),
        normal.bit(3),
        normal.bits(0, 3).any(),
        kind,
    )

    cancel = equal & subtract
    invalid = left.nan | right.nan | (left.infinite & right.infinite & subtract)
    overflow = total.bit(-1) & exponent.eq(kind.top_exponent - 1)
    return finish(
        sign & ~cancel,
        magnitude,
        kind,
        zero=cancel & ~left.top,
        infinite=left.top | right.top | overflow,
        nan=invalid,
    )


def subtract(a: Signal, b: Signal, kind: FloatFormat) -> Signal:
    """``a - b``."""
    return add(a, cat(~b.bit(-1), b.bits(0, kind.width - 1)), kind)
