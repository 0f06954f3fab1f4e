"""Multiplication where subnormals count as zero.

The product of two significands lies in [1, 4): one bit decides how it is normalised, and no shifter is
needed. Whether the result is zero or infinite is known from the sum of the exponent fields, but for the two
sums next to these where the significand decides: there the lowest bit of the exponent tells.
"""

from __future__ import annotations

from collections.abc import Callable

from allo.backend.rtl.operators.netlist import Signal, cat, mux

from ..formats import FloatFormat
from ..parts import unpack

Product = Callable[[Signal, Signal], Signal]
"""Exact product of two significands, twice as wide."""


def multiply_flushed(a: Signal, b: Signal, kind: FloatFormat, product: Product) -> Signal:
    """``a * b``, where an operand or a result below the smallest normal number is a zero of its sign."""
    net, precision, exponent, fraction = a.net, kind.precision, kind.exponent, kind.fraction
    left, right = unpack(a, kind), unpack(b, kind)
    one = net.const(1, 1)
    exact = product(cat(one, left.fraction), cat(one, right.fraction))

    # The exponent field of a product in [1, 2) is this sum less the bias and one: the bias is one less
    # than a power of two.
    carry = net.const(0, 1)
    total = (cat(carry, left.exponent, one) + cat(carry, right.exponent, one)).bits(1, exponent + 1)
    high, low = total.bit(-1), total.bit(-2)
    below, above = ~(high | low), high & low
    middle = total.bits(1, exponent - 2)
    zeros, ones = middle.none(), middle.all()
    last = total.bit(0)
    # The least field, 0, and the greatest of a number, one less than that of infinities.
    least = low & ~high & zeros & ~last
    most = high & ~low & ones & ~last
    above = above | (high & ones & last)

    nothing = ~(left.normal & right.normal)
    top = left.top | right.top
    infinite = top | (above & ~nothing)
    nan = (top & nothing) | left.nan | right.nan
    zero = (nothing | below) & ~top

    upper = exact.bit(-1)
    body = mux(upper, exact.bits(precision, fraction), exact.bits(precision - 1, fraction))
    guard = mux(upper, exact.bit(precision - 1), exact.bit(precision - 2))
    rest = exact.bits(0, precision - 2).any() | (upper & exact.bit(precision - 2))
    up = guard & (body.bit(0) | rest) & ~infinite
    field = mux(infinite, net.const(-1, exponent), cat(~low, total.bits(0, exponent - 1)))
    carries = cat((upper & ~infinite).zext(exponent), up.zext(fraction))
    magnitude = cat(field, body) + carries

    grown = magnitude.bit(fraction)
    clear = zero | infinite | mux(grown, most, least)
    return cat(
        (left.sign ^ right.sign) & ~nan,
        mux(zero, net.const(0, exponent), magnitude.bits(fraction, exponent)),
        mux(clear, nan, magnitude.bit(fraction - 1)),
        mux(clear, net.const(0, fraction - 1), magnitude.bits(0, fraction - 1)),
    )
