"""Multiplication where subnormals count as zero.

The product of two significands lies in [1, 4): one bit decides how it is normalised, and no shifter is
needed. Whether the result is zero or infinite is known from the sum of the exponent fields, but for the two
sums next to these where the significand decides: there the lowest bit of the exponent tells.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from allo.backend.rtl.operators.netlist import Signal, cat, mux

from ..formats import FloatFormat
from ..parts import unpack

Product = Callable[[Signal, Signal], Signal]
"""Exact product of two significands, twice as wide."""


def multiply_flushed(a: Signal, b: Signal, kind: FloatFormat, product: Product) -> Signal:
    """``a * b``, where an operand or a result below the smallest normal number is a zero of its sign."""
    net, exponent, fraction = a.net, kind.exponent, kind.fraction
    left, right = unpack(a, kind), unpack(b, kind)
    one = net.const(1, 1)
    body = normalised_product(product(cat(one, left.fraction), cat(one, right.fraction)), kind)
    sum_ = exponent_sum(left.exponent, right.exponent)

    nothing = ~(left.normal & right.normal)
    top = left.top | right.top
    infinite = top | (sum_.above & ~nothing)
    nan = (top & nothing) | left.nan | right.nan
    zero = (nothing | sum_.below) & ~top

    # The exponent of an infinite result is set before the sum, to which nothing is added then.
    field = mux(infinite, net.const(-1, exponent), sum_.field)
    carries = cat((body.upper & ~infinite).zext(exponent), (body.up & ~infinite).zext(fraction))
    magnitude = cat(field, body.fraction) + carries
    clear = zero | infinite | mux(magnitude.bit(fraction), sum_.most, sum_.least)
    return cat(
        (left.sign ^ right.sign) & ~nan,
        mux(zero, net.const(0, exponent), magnitude.bits(fraction, exponent)),
        mux(clear, nan, magnitude.bit(fraction - 1)),
        mux(clear, net.const(0, fraction - 1), magnitude.bits(0, fraction - 1)),
    )


@dataclass(frozen=True, slots=True)
class ExponentSum:
    """What the exponents of two factors say of their product.

    Attributes:
        field: the exponent of a product in [1, 2), where it is one.
        below, above: whether it is less than 0, or at least that of infinities.
        least, most: whether it is 0, which is none of a number unless one is added, or the greatest of a
            number, which is none if one is added. The lowest bit of the two differs from that sum's.
    """

    field: Signal
    below: Signal
    above: Signal
    least: Signal
    most: Signal


def exponent_sum(a: Signal, b: Signal) -> ExponentSum:
    """The exponent fields of two normal numbers added, less the bias.

    The bias is one less than a power of two: with one more in the sum, its upper two bits less one.
    """
    net, bits = a.net, a.width
    zero, one = net.const(0, 1), net.const(1, 1)
    total = (cat(zero, a, one) + cat(zero, b, one)).bits(1, bits + 1)
    high, low, last = total.bit(-1), total.bit(-2), total.bit(0)
    middle = total.bits(1, bits - 2)
    zeros, ones = middle.none(), middle.all()
    return ExponentSum(
        field=cat(~low, total.bits(0, bits - 1)),
        below=~(high | low),
        above=(high & low) | (high & ones & last),
        least=low & ~high & zeros & ~last,
        most=high & ~low & ones & ~last,
    )


@dataclass(frozen=True, slots=True)
class Body:
    """A product normalised: whether it is at least 2, its fraction, and whether rounding adds to that."""

    upper: Signal
    fraction: Signal
    up: Signal


def normalised_product(exact: Signal, kind: FloatFormat) -> Body:
    """The product of two significands, each at least 1, before it is rounded to nearest, ties to even."""
    precision = kind.precision
    upper = exact.bit(-1)
    high, low = (exact.bits(place, kind.fraction) for place in (precision, precision - 1))
    fraction = mux(upper, high, low)
    guard = mux(upper, exact.bit(precision - 1), exact.bit(precision - 2))
    rest = exact.bits(0, precision - 2).any() | (upper & exact.bit(precision - 2))
    return Body(upper, fraction, guard & (fraction.bit(0) | rest))
