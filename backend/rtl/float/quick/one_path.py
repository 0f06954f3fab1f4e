"""Addition in one path that rounds while it normalises.

A sum that loses two leading places or more is a difference of operands that lie one place apart at most: it
is exact. A sum that is rounded is normalised by one place at most. So one alignment and one carry chain serve
both; behind the chain one shifter normalises what is exact, and beside it another chain rounds what is not.
The sum takes more levels of logic than in two paths (:mod:`.paths`), and fewer lookup tables.

The exponent of subnormals is taken as 0, and a lone subnormal operand a place higher instead. Where they are
kept, the leading zeros that are shifted out are at most those for which the exponent has room.
"""

from __future__ import annotations

from dataclasses import dataclass

from allo.backend.rtl.operators.netlist import Signal, cat, mux

from ..add import aligned
from ..formats import FloatFormat
from ..parts import Unpacked, unpack
from .paths import below, leading_zeros, shifted_left


def add_in_one_path(a: Signal, b: Signal, kind: FloatFormat, *, joined: bool = False) -> Signal:
    """``a + b``, the bits of :func:`~..add.add`, or of :func:`~..flushed.add.add_flushed`.

    ``joined``: what is aligned comes to the carry chain in the tables that join it with the other operand, a
    level sooner: for higher clocks.
    """
    return _Sum(unpack(a, kind), unpack(b, kind), kind, joined=joined).result()


def subtract_in_one_path(
    a: Signal, b: Signal, kind: FloatFormat, *, joined: bool = False
) -> Signal:
    """``a - b``, as :func:`add_in_one_path` draws it."""
    return add_in_one_path(a, cat(~b.bit(-1), b.bits(0, kind.width - 1)), kind, joined=joined)


@dataclass(frozen=True, slots=True)
class _Exact:
    """A sum normalised without rounding.

    Attributes:
        field, fraction: of its exponent and significand.
        empty: whether it is zero.
        sure, maybe, late: it is a normal number, or a subnormal one that is kept, where the first is set or
            the other two are.
    """

    field: Signal
    fraction: Signal
    empty: Signal
    sure: Signal
    maybe: Signal
    late: Signal


class _Sum:
    """The steps of a sum, and what several of them read."""

    def __init__(self, left: Unpacked, right: Unpacked, kind: FloatFormat, *, joined: bool) -> None:
        self.left, self.right, self.kind, self.joined = left, right, kind, joined
        self.net = left.sign.net
        self.swap = left.magnitude.ult(right.magnitude)
        self.subtract = left.sign ^ right.sign
        self.top = left.top | right.top
        self.some, self.both = left.normal | right.normal, left.normal & right.normal
        wide = kind.exponent + 1
        above = left.exponent.zext(wide) - right.exponent.zext(wide)
        further = above.bit(-1)
        below = right.exponent - left.exponent
        self.distance = mux(further, below, above.bits(0, kind.exponent))
        self.field = mux(further, right.exponent, left.exponent)
        self.more = self.field.bits(1, kind.exponent - 1)
        self.large = mux(self.swap, right.fraction, left.fraction)

    def result(self) -> Signal:
        """The sum with its special values."""
        kind, left, right = self.kind, self.left, self.right
        total, sticky = self._total()
        carry, hidden, third = (total.bit(-n) for n in (1, 2, 3))
        exact = ~(carry | hidden | (third & self.more.any()))
        rounded = self._rounded(total, sticky)
        normal = self._normalised(total.bits(1, kind.precision + 1))

        top = self.top
        nan = (top & self.large.any()) | (left.top & right.top & self.subtract)
        found, far = exact & ~normal.empty, ~exact
        cancel = exact & normal.empty
        if kind.flush:
            found, far, cancel = found & self.some, far & self.some, cancel | ~self.some
        # Whether the exact sum is normal is known last: it is one input of the last tables.
        sure, maybe = found & normal.sure, found & normal.maybe
        near = sure | (maybe & normal.late)
        field = _either(near, normal.field, far, rounded.bits(kind.fraction, kind.exponent))
        if not kind.flush:
            field = field | top.repeat(kind.exponent)
            near = near & ~top
        far = far & ~(top | (carry & self.more.all()))
        fraction = _either(near, normal.fraction, far, rounded.bits(0, kind.fraction))
        return cat(
            mux(self.swap, right.sign, left.sign) & ~(nan | (self.subtract & cancel)),
            field,
            fraction.bit(-1) | nan,
            fraction.bits(0, kind.fraction - 1),
        )

    def _total(self) -> tuple[Signal, Signal]:
        """Carry, significand and two bits more of the sum; the bit below them takes part as a carry."""
        kind, net = self.kind, self.net
        shifted, sticky = aligned(cat(self._small(), net.const(0, 2)), self.distance)
        width = kind.precision + 3
        hidden = net.const(1, 1) if kind.flush else self.some
        first = cat(net.const(0, 1), hidden, self.large, net.const(0, 2))
        second = shifted.zext(width) ^ self.subtract.repeat(width)
        shared, alone = cat(second, ~sticky), cat(first, self.subtract)
        total = alone + shared if self.joined else shared + alone
        return total.bits(1, width), sticky

    def _small(self) -> Signal:
        """The significand that is aligned: nothing, or a place higher, if it is a lone subnormal."""
        fraction = mux(self.swap, self.left.fraction, self.right.fraction)
        one, zero = self.net.const(1, 1), self.net.const(0, 1)
        if self.kind.flush:  # Beside an infinity or a NaN nothing, so that the exponent stays.
            return cat(one, fraction) & (self.both & ~self.top).repeat(self.kind.precision)
        return mux(self.some & ~self.both, cat(fraction, zero), cat(self.both, fraction))

    def _rounded(self, total: Signal, sticky: Signal) -> Signal:
        """Exponent field and fraction of a sum normalised by one place at most, rounded to nearest, even."""
        kind, net = self.kind, self.net
        carry, hidden = total.bit(-1), total.bit(-2)
        places = [total.bits(low, kind.fraction) for low in (1, 2, 3)]
        fraction = mux(carry, places[2], mux(hidden, places[1], places[0]))
        bits = [total.bit(place) for place in range(4)]
        up = mux(
            carry,
            bits[2] & (bits[3] | bits[1] | bits[0] | sticky),
            mux(hidden, bits[1] & (bits[2] | bits[0] | sticky), bits[0] & (bits[1] | sticky)),
        )
        # The field of the sum that is normalised by one place to the left.
        some = net.const(1, 1) if kind.flush else self.some
        room = self.field - some.zext(kind.exponent)
        more = cat(carry, hidden & ~carry).zext(kind.exponent)
        return cat(more, up.zext(kind.fraction)) + cat(room, fraction)

    def _normalised(self, value: Signal) -> _Exact:
        """A difference shifted left by its leading zeros; what it loses in front has no bits behind it."""
        kind = self.kind
        empty, zeros = leading_zeros(value, None)
        wide = max(kind.exponent, zeros.width + 1)
        last = self.field.bit(0) if kind.flush else self.field.bit(0) | ~self.some
        room = cat(self.more, last).zext(wide)
        rest = room - zeros.zext(wide)
        low, far = room.bits(0, zeros.width), room.bits(zeros.width, wide - zeros.width).any()
        zero, one = self.net.const(0, 1), self.net.const(1, 1)
        if kind.flush:
            normal = shifted_left(value, zeros)
            half = zeros.width // 2
            under, equal = below(
                zeros.bits(half, zeros.width - half), low.bits(half, low.width - half)
            )
            late, _ = below(zeros.bits(0, half), low.bits(0, half))
            sure, maybe = far | under, equal
        else:
            within = far | zeros.ult(low)
            normal = shifted_left(value, mux(within, zeros, low - 1))
            rest, sure, maybe, late = rest & within.repeat(wide), one, zero, zero
        field, fraction = rest.bits(0, kind.exponent), normal.bits(1, kind.fraction)
        return _Exact(field, fraction, empty, sure, maybe, late)


def _either(near: Signal, value: Signal, far: Signal, other: Signal) -> Signal:
    """One of two values, or none."""
    return (near.repeat(value.width) & value) | (far.repeat(other.width) & other)
