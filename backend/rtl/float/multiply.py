"""Multiplication.

The exact product is shifted once: left by the leading zeros of a subnormal operand, or right
when the result is subnormal. Both are one right shift of the product with a wide space below.
"""

from __future__ import annotations

from collections.abc import Callable

from allo.backend.rtl.operators.families.counts import leading_zeros
from allo.backend.rtl.operators.netlist import Signal, cat, mux

from .formats import FloatFormat
from .parts import Unpacked, shift_right_sticky, unpack

Product = Callable[[Signal, Signal], Signal]
"""Exact product of two significands, twice as wide."""


def multiply(a: Signal, b: Signal, kind: FloatFormat, product: Product) -> Signal:
    """``a * b``."""
    net, precision, exponent = a.net, kind.precision, kind.exponent
    left, right = unpack(a, kind), unpack(b, kind)
    exact = product(left.significand, right.significand)

    # Room left of the product for a result that is normal with its top bit in front: a subnormal
    # operand's leading zeros are shifted out as far as there is room. What is left of it is `spare`.
    # A product of zero has none, so that its exponent is zero too.
    room = _room(left, right, kind)
    zeros = leading_zeros(mux(left.normal, right.significand, left.significand))
    rest = room.sext(room.width + 1) - zeros.zext(room.width + 1)
    short = rest.bit(-1) | left.zero | right.zero
    spare = rest.bits(0, exponent + 1) & (~short).repeat(exponent + 1)

    # A left shift by n is a right shift by 2**levels - 1 - n: the complement of the low bits of n, and
    # one step more where n is negative. The shift by all steps leaves nothing that could round up.
    levels = precision.bit_length()
    negative = room.bit(-1)
    far = negative & ~room.bits(levels, room.width - levels).all()
    low = mux(short, room.bits(0, levels), zeros.bits(0, levels))
    amount = cat(negative, ~low | far.repeat(levels))
    space = net.const(0, (1 << levels) - precision + 1)
    shifted = shift_right_sticky(cat(exact, space), amount, precision + 2)
    body, sticky = shifted.bits(1, precision + 2), shifted.bit(0)

    # Where the top bit is clear the next one is the first, or the result is subnormal.
    top = body.bit(-1)
    stay = top | spare.none()
    fraction = mux(stay, body.bits(2, kind.fraction), body.bits(1, kind.fraction))
    guard = mux(stay, body.bit(1), body.bit(0))
    up = guard & (fraction.bit(0) | (stay & body.bit(0)) | sticky)
    carries = cat(top.zext(exponent), up.zext(kind.fraction))
    magnitude = cat(spare.bits(0, exponent), fraction) + carries

    last = spare.bits(1, exponent - 1).all() & (spare.bit(0) | top)
    invalid = left.nan | right.nan | (left.zero & right.top) | (right.zero & left.top)
    infinite = left.top | right.top | spare.bit(-1) | last
    return cat(
        (left.sign ^ right.sign) & ~invalid,
        mux(infinite, net.const(-1, exponent), magnitude.bits(kind.fraction, exponent)),
        mux(infinite, invalid, magnitude.bit(kind.fraction - 1)),
        mux(infinite, net.const(0, kind.fraction - 1), magnitude.bits(0, kind.fraction - 1)),
    )


def _room(left: Unpacked, right: Unpacked, kind: FloatFormat) -> Signal:
    """The sum of the exponents less the bias, two bits wider than they are, signed.

    The bias is one less than a power of two: with one more in the sum, its upper two bits less one.
    """
    net, bits = left.sign.net, kind.exponent
    one = net.const(1, 1)
    total = cat(net.const(0, 1), left.effective, one) + cat(net.const(0, 1), right.effective, one)
    total = total.bits(1, bits + 1)
    high, low = total.bit(-1), total.bit(bits - 1)
    return cat(~(high | low), ~(high ^ low), ~low, total.bits(0, bits - 1))
