"""Reciprocals of constants: how many bits a product needs so that it is rounded as the quotient is.

Let ``m`` be the significand of an operand, an integer of ``p`` bits, and ``c`` that of the divisor, which
is ``d`` times a power of two, ``d`` odd. A unit computes ``m * R`` with ``R = ceil(2**n / d)``, which
exceeds ``m * 2**n / d`` by ``m * e / d``, where ``0 <= e = R * d - 2**n < d``. Of the quotient it needs
the digits down to the one behind its last, of weight ``2**-j``: ``floor(m * 2**j / d)``. What this leaves
is a multiple ``r / d`` with ``r < d``. So the product has the same digits if and only if ``m * e * 2**j <
(d - r) * 2**n``. As ``d - r >= 1``, ``n`` with ``2**n > 2**(p + j) * e`` is always enough (Granlund and
Montgomery, Division by Invariant Integers using Multiplication, PLDI 1994, theorem 4.2). That is about
``p + 2`` bits more than ``d`` has. :func:`reciprocal_of` finds the least ``n`` by trying the operands
that are next to failing: those of remainder ``d - 1``, ``d - 2`` ….

**No quotient lies in the middle** of two numbers of ``p`` bits: an odd number of ``p + 1`` bits, times
``c``, would be ``m`` times a power of two, so it would divide ``m``, which is less (Brisebarre, Muller
and Raina, Accelerating Correctly Rounded Floating-Point Division when the Divisor Is Known in Advance,
IEEE Trans. Computers 53(8), 2004). So the digit behind the last one decides alone. Subnormal results have
fewer digits, and there the middle is met if the divisor is an even integer. Whether the quotient ends is
then seen from its next digits: a remainder that is not 0 is at least ``1 / d``, so one of the ``t``
digits behind weight ``2**-j`` is set with ``2**t >= d``, and where it is 0 none of them may be: ``m * e *
2**(j + t) < 2**n`` for every multiple ``m`` of ``d``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..formats import FloatFormat


@dataclass(frozen=True, slots=True)
class Constant:
    """A finite constant that is not zero: ``±odd * 2**(exponent - odd.bit_length() + 1)``.

    Attributes:
        negative: its sign.
        odd: its significand without trailing zeros.
        exponent: of its first bit.
    """

    negative: bool
    odd: int
    exponent: int

    @property
    def even_integer(self) -> bool:
        """Whether two divides it."""
        return self.exponent >= self.odd.bit_length()


def constant_of(bits: int, kind: FloatFormat) -> Constant | None:
    """The constant of these bits; None for zeros, infinities and NaN, and for what counts as zero."""
    field = bits >> kind.fraction & kind.top_exponent
    fraction = bits & (1 << kind.fraction) - 1
    if field == kind.top_exponent or not (field or fraction) or (kind.flush and not field):
        return None
    significand = fraction | (1 << kind.fraction if field else 0)
    exponent = max(field, 1) - kind.bias - kind.fraction + significand.bit_length() - 1
    zeros = (significand & -significand).bit_length() - 1
    return Constant(bool(bits >> kind.width - 1), significand >> zeros, exponent)


@dataclass(frozen=True, slots=True)
class Reciprocal:
    """``factor / 2**places``, a little more than one over an odd number.

    Attributes:
        tail: digits behind the one that rounds, of which one is set where the quotient does not end.
    """

    odd: int
    factor: int
    places: int
    tail: int

    @property
    def excess(self) -> int:
        """``e`` above."""
        return self.factor * self.odd - (1 << self.places)


def reciprocal(odd: int, places: int, tail: int = 0) -> Reciprocal:
    """The reciprocal with so many binary places, rounded up."""
    return Reciprocal(odd, -(-(1 << places) // odd), places, tail)


def reciprocal_of(odd: int, precision: int, *, ends: bool) -> Reciprocal:
    """The shortest reciprocal whose product with any significand rounds as its quotient by ``odd`` does.

    Args:
        precision: bits of the significand.
        ends: whether it must be seen that a quotient ends.
    """
    tail = (odd - 1).bit_length() if ends else 0
    if odd == 1:
        return Reciprocal(1, 1, 0, 0)
    # 2**places > 2**(precision + j) * e, where j is at most the bits of the odd number and 1.
    places = precision + 2 * odd.bit_length() + 2
    found = reciprocal(odd, places, tail)
    while (shorter := reciprocal(odd, places - 1, tail)) and not _fails(shorter, precision):
        found, places = shorter, places - 1
    return found


def _fails(found: Reciprocal, precision: int) -> bool:
    return _tail_lies(found, precision) or next(failures(found, precision), None) is not None


def _tail_lies(found: Reciprocal, precision: int) -> bool:
    """Whether a quotient that ends has a digit set in the tail."""
    if not found.tail:
        return False
    last = ((1 << precision) - 1) // found.odd * found.odd
    digits = found.odd.bit_length() + found.tail
    return last * found.excess << digits >= 1 << found.places


def failures(found: Reciprocal, precision: int) -> Iterator[int]:
    """Significands of which the product's digits are not those of the quotient, one for each remainder.

    Where the quotient's first digit has a weight less, the digit that rounds has one, too.
    """
    odd, length = found.odd, found.odd.bit_length()
    scaled = odd << precision - length
    for first, end, places in (
        (1 << precision - 1, scaled, length + 1),
        (scaled, 1 << precision, length),
    ):
        if first >= end:
            continue
        inverse = pow(pow(2, places, odd), -1, odd)
        # The largest operand with a remainder of odd - short is next to failing.
        for short in range(1, odd):
            if (end - 1) * found.excess << places < short << found.places:
                break
            value = end - 1 - (end - 1 + short * inverse) % odd
            if value >= first and value * found.excess << places >= short << found.places:
                yield value
