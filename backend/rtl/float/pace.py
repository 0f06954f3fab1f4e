"""How many stages a multiplier has.

A multiplier takes at least as many stages as its exponents would one adder after the other. The unit itself
(:mod:`.multiply`) needs fewer adders, and its registers lie better for it; the cycles of all designs rest on
this number of stages.
"""

from __future__ import annotations

from collections.abc import Callable

from allo.backend.rtl.operators.families.counts import leading_zeros
from allo.backend.rtl.operators.netlist import Signal, cat, mux

from .formats import FloatFormat
from .parts import finish, round_product, shift_right_sticky, unpack

Product = Callable[[Signal, Signal], Signal]
"""Exact product of two significands, twice as wide."""


def paced_multiply(a: Signal, b: Signal, kind: FloatFormat, product: Product) -> Signal:
    """``a * b``, of which the stages alone are used."""
    net, precision = a.net, kind.precision
    left, right = unpack(a, kind), unpack(b, kind)
    exact = product(left.significand, right.significand)

    # Room left of the product for a result that is normal with its top bit in front.
    bits = kind.exponent + 2
    biased = left.effective.zext(bits) + right.effective.zext(bits)
    room = biased - kind.bias
    small = mux(left.normal, right.fraction, left.fraction)
    subnormal = ~(left.normal & right.normal)
    zeros = leading_zeros(small)
    zeros = (zeros + 1).zext(bits) if zeros.width < bits else zeros.bits(0, bits) + 1
    zeros = zeros & subnormal.repeat(bits)
    limited = room.slt(zeros)
    left_shift = mux(limited, room, zeros)

    # The product's top bits, two more than needed and a sticky bit, after a shift by left_shift.
    amount = net.const(precision, bits) - left_shift
    shifted = shift_right_sticky(cat(exact, net.const(0, 2)), amount, precision + 2)
    spare = room - left_shift

    magnitude, overflow = round_product(shifted.bits(1, precision + 2), shifted.bit(0), spare, kind)
    zero = left.zero | right.zero
    top = left.top | right.top
    invalid = left.nan | right.nan | (zero & top)
    return finish(
        left.sign ^ right.sign,
        magnitude,
        kind,
        zero=zero & ~top,
        infinite=top | (overflow & ~zero),
        nan=invalid,
    )
