"""Addition in two paths: for sums on which a loop waits.

Operands that nearly cancel lie at most one place apart: their difference is normalised by many places and
never rounded. All others are aligned by many places, normalised by one and rounded. So each path has one long
shift, where one path for all has two (Farmwald, 1981; Seidel and Even, "Delay-optimized implementation of
IEEE floating-point addition", IEEE Transactions on Computers 53, 2004). The orders of both are found at once:
that of the exponents for the long alignment, that of the magnitudes for the difference.

The exponent of subnormals is taken as 0, and a lone subnormal operand a place higher instead, so that no
difference of exponents waits for what tells that an operand is one. A mark ends the count of leading zeros
where the exponent of the result would fall below that of subnormals.
"""

from __future__ import annotations

from dataclasses import dataclass

from allo.backend.rtl.operators.netlist import Signal, cat, mux

from ..add import aligned, aligned_flat, any_of
from ..formats import FloatFormat
from ..parts import Unpacked, unpack


def add_by_paths(
    a: Signal,
    b: Signal,
    kind: FloatFormat,
    *,
    flat: bool = True,
    early: bool = False,
    rounds: bool = False,
) -> Signal:
    """``a + b``, the bits of :func:`~..add.add`, or of :func:`~..flushed.add.add_flushed`.

    ``flat``: as is best for tables of six inputs. ``early`` asks both operands which bits the alignment
    loses, while the distance is not known yet: a level less, and a tenth more lookup tables, where subnormals
    are kept. ``rounds``: the carry chain that adds rounds, too, for each place of the first bit: a chain less
    on the way, and two more beside it.
    """
    sum_ = _Sum(unpack(a, kind), unpack(b, kind), kind, flat=flat, early=early and not kind.flush)
    return sum_.result(rounds=rounds)


def subtract_by_paths(
    a: Signal,
    b: Signal,
    kind: FloatFormat,
    *,
    flat: bool = True,
    early: bool = False,
    rounds: bool = False,
) -> Signal:
    """``a - b``, as :func:`add_by_paths` draws it."""
    negative = cat(~b.bit(-1), b.bits(0, kind.width - 1))
    return add_by_paths(a, negative, kind, flat=flat, early=early, rounds=rounds)


@dataclass(frozen=True, slots=True)
class _Near:
    """A difference normalised: its exponent field and fraction, and whether it is below normal numbers."""

    chosen: Signal
    field: Signal
    fraction: Signal
    tiny: Signal


class _Sum:
    """Both paths of a sum, and what they share."""

    def __init__(
        self, left: Unpacked, right: Unpacked, kind: FloatFormat, *, flat: bool, early: bool
    ) -> None:
        self.left, self.right, self.kind = left, right, kind
        self.flat, self.early = flat, early
        self.net = left.sign.net
        self.subtract = left.sign ^ right.sign
        self.some, self.both = left.normal | right.normal, left.normal & right.normal
        self.mixed = left.normal ^ right.normal
        wide = kind.exponent + 1
        above = left.exponent.zext(wide) - right.exponent.zext(wide)
        self.further = above.bit(-1)
        below = right.exponent - left.exponent
        self.distance = mux(self.further, below, above.bits(0, kind.exponent))
        self.field = mux(self.further, right.exponent, left.exponent)

    def result(self, *, rounds: bool) -> Signal:
        """The sum with its special values."""
        kind, left, right = self.kind, self.left, self.right
        swap = left.magnitude.ult(right.magnitude)
        top = left.top | right.top
        near = self._near(swap, self.subtract & ~top)
        magnitude, over = self._far_at_once() if rounds else self._far()
        nan = left.nan | right.nan | (left.top & right.top & self.subtract)
        same = left.magnitude.eq(right.magnitude)
        kill = top | over
        if kind.flush:
            same, kill = same | ~self.some, kill | ~self.some
        field = mux(near.chosen, near.field, magnitude.bits(kind.fraction, kind.exponent))
        if kind.flush:
            empty = (near.chosen & near.tiny) | ~self.some
            field = field & (~empty).repeat(kind.exponent)
        near_fraction = near.fraction & (~near.tiny).repeat(kind.fraction)
        far = magnitude.bits(0, kind.fraction) & (~kill).repeat(kind.fraction)
        fraction = mux(near.chosen, near_fraction, far)
        quiet = mux(near.chosen | nan, nan | near_fraction.bit(-1), far.bit(-1))
        return cat(
            mux(swap, right.sign, left.sign) & ~(nan | (self.subtract & same)),
            field | top.repeat(kind.exponent),
            quiet,
            fraction.bits(0, kind.fraction - 1),
        )

    # --- far ------------------------------------------------------------------------

    def _far(self) -> tuple[Signal, Signal]:
        """Exponent field and fraction of a sum that is normalised by one place; whether it is infinite."""
        kind = self.kind
        first, second, sticky = self._terms()
        width = kind.precision + 3
        total = (cat(first, self.subtract) + cat(second, ~sticky)).bits(1, width)

        carry, hidden = total.bit(-1), total.bit(-2)
        lower = ~(carry | hidden) & self.subtract
        places = [total.bits(low, kind.fraction) for low in (1, 2, 3)]
        fraction = mux(carry, places[2], mux(lower, places[0], places[1]))
        bits = [total.bit(place) for place in range(4)]
        up = mux(
            carry,
            bits[2] & (bits[3] | bits[1] | bits[0] | sticky),
            mux(lower, bits[0] & (bits[1] | sticky), bits[1] & (bits[2] | bits[0] | sticky)),
        )
        # The exponent of the sum that is normalised by one place to the left.
        room = self.field - self.some.zext(kind.exponent)
        more = cat(carry, hidden & ~carry).zext(kind.exponent)
        magnitude = cat(more, up.zext(kind.fraction)) + cat(room, fraction)
        return magnitude, self.field.bits(1, kind.exponent - 1).all() & carry

    def _terms(self) -> tuple[Signal, Signal, Signal]:
        """The larger operand, the other one aligned and turned, and whether any bit of this is lost."""
        zero, two = self.net.const(0, 1), self.net.const(0, 2)
        large = mux(self.further, self.right.fraction, self.left.fraction)
        small = cat(self._small(), two)
        if self.flat:
            shifted, sticky = aligned_flat(small, self.distance, self._some if self.early else None)
        else:
            shifted, sticky = aligned(small, self.distance)
        width = self.kind.precision + 3
        second = shifted.zext(width) ^ self.subtract.repeat(width)
        return cat(zero, self.some, large, two), second, sticky

    def _far_at_once(self) -> tuple[Signal, Signal]:
        """The same, from sums that are rounded as they are made, for each place that the first bit may have.

        Where a sum is rounded up, no carry comes from the bits below its last one. So one of both is the
        carry that enters its chain (Seidel and Even, 2004).
        """
        kind = self.kind
        first, second, sticky = self._terms()
        enters = self.subtract & ~sticky
        total = sum_with_carry(first, second, enters)
        carry, hidden = total.bit(-1), total.bit(-2)

        # The low bits of the sum; where they matter for a carry in front, both operands have one sign.
        (_, _, two, three), (zero, one, low, high) = (
            [term.bit(place) for place in range(4)] for term in (first, second)
        )
        ones = zero & enters
        bits = zero ^ enters, one ^ ones, two ^ low ^ (one & ones), three ^ high ^ (two & low)
        lost = sticky | bits[0]
        ups = (
            bits[0] & (bits[1] | sticky),
            bits[1] & (bits[2] | lost),
            (two ^ low) & (bits[3] | one | zero | sticky),
        )
        carries = ones, one & ones, two & low
        less, same, more = (
            sum_with_carry(
                first.bits(place, kind.precision), second.bits(place, kind.precision), up | come
            )
            for place, (up, come) in enumerate(zip(ups, carries, strict=True), 1)
        )
        lower = ~(carry | hidden) & self.subtract
        fraction = mux(
            carry,
            more.bits(0, kind.fraction),
            mux(lower, less.bits(0, kind.fraction), same.bits(0, kind.fraction)),
        )
        room = self.field - self.some.zext(kind.exponent)
        fields = [room + n if n else room for n in range(4)]
        # A sum whose first bit is gone was rounded up to the next power of two.
        field = mux(
            carry,
            mux(more.bit(-1), fields[2], fields[3]),
            mux(
                hidden,
                mux(same.bit(-1), fields[1], fields[2]),
                mux(self.subtract & ~less.bit(-1), fields[1], fields[0]),
            ),
        )
        return cat(field, fraction), self.field.bits(1, kind.exponent - 1).all() & carry

    def _small(self) -> Signal:
        """The significand that is aligned: nothing, or a place higher, if it is a lone subnormal."""
        fraction = mux(self.further, self.left.fraction, self.right.fraction)
        if self.kind.flush:
            one = self.net.const(1, 1)
            return cat(one, fraction) & self.both.repeat(self.kind.precision)
        return mux(self.mixed, cat(fraction, self.net.const(0, 1)), cat(self.both, fraction))

    def _some(self, low: int, count: int) -> Signal:
        """Whether any of these bits of the significand that is aligned, with two zeros behind it, is set."""

        def of_either(place: int) -> Signal:
            ours, theirs = (any_of(x.fraction, place, count) for x in (self.left, self.right))
            return mux(self.further, ours, theirs)

        hidden = self.both if low <= self.kind.fraction + 2 < low + count else self.net.const(0, 1)
        return mux(self.mixed, of_either(low - 3), of_either(low - 2) | hidden)

    # --- near -----------------------------------------------------------------------

    def _near(self, swap: Signal, asked: Signal) -> _Near:
        """The difference of operands that lie at most one place apart, taken where ``asked`` and small."""
        kind, net = self.kind, self.net
        zero = net.const(0, 1)
        left, right = self.left.significand, self.right.significand
        large, small = mux(swap, right, left), mux(swap, left, right)
        apart = self.left.effective.bit(0) ^ self.right.effective.bit(0)
        value = cat(large, zero) - mux(apart, cat(zero, small), cat(small, zero))
        marks = None if kind.flush else self._marks(value.width)
        _, steps = leading_zeros(value, marks)
        normal = shifted_left(value, steps)
        hidden = value.any() if kind.flush else normal.bit(-1)

        wide = max(kind.exponent, steps.width) + 1
        field = self.field.zext(wide) - steps.zext(wide)
        tiny = zero
        if kind.flush:
            tiny = ~(hidden & self._within(steps))
        high = self.distance.bits(2, kind.exponent - 2).none()
        second, first = self.distance.bit(1), self.distance.bit(0)
        close = high & ~second
        close = close & self.both if kind.flush else close | (high & ~first & self.mixed)
        return _Near(
            asked & close & ~value.bit(-1),
            field.bits(0, kind.exponent) & hidden.repeat(kind.exponent),
            normal.bits(1, kind.fraction),
            tiny,
        )

    def _within(self, steps: Signal) -> Signal:
        """Whether the exponent field stays above zero; the low bits of ``steps`` are the late ones."""
        width = min(steps.width, self.field.width)
        far = self.field.bits(width, self.field.width - width).any()
        return far | below(steps.bits(0, width), self.field.bits(0, width))[0]

    def _marks(self, width: int) -> Signal:
        """One bit at the place of the smallest normal number in a difference, highest for 1."""
        field = cat(self.field.bits(1, self.kind.exponent - 1), self.field.bit(0) | ~self.some)
        none = self.net.const(0, 1)
        places = range(1, width + 1)
        return cat(*(field.eq(n) if n < 1 << field.width else none for n in places))


def sum_with_carry(a: Signal, b: Signal, carry: Signal) -> Signal:
    """``a + b + carry``, by one carry chain."""
    return (cat(a, carry) + cat(b, carry)).bits(1, a.width)


def below(a: Signal, b: Signal) -> tuple[Signal, Signal]:
    """Whether ``a < b``, and whether they are the same, by tables: the upper bits first."""
    if a.width == 1:
        return ~a & b, ~(a ^ b)
    low = a.width // 2
    under, equal = below(a.bits(low, a.width - low), b.bits(low, a.width - low))
    less, same = below(a.bits(0, low), b.bits(0, low))
    return under | (equal & less), equal & same


def leading_zeros(value: Signal, marks: Signal | None) -> tuple[Signal, Signal]:
    """Whether no bit of either is set, and the zeros above the highest one, four places at a time.

    Where none is set, the second is any number.
    """
    net = value.net
    full = -(-value.width // 4) * 4
    low = net.const(0, full - value.width)
    value = cat(value, low)
    marks = net.const(0, full) if marks is None else cat(marks, low)
    parts = [_quad(value.bits(n, 4), marks.bits(n, 4)) for n in reversed(range(0, full, 4))]
    while len(parts) > 1:
        last = [_alone(parts.pop())] if len(parts) % 2 else []
        parts = [_pair(*parts[n : n + 2]) for n in range(0, len(parts), 2)] + last
    return parts[0]


def _quad(value: Signal, marks: Signal) -> tuple[Signal, Signal]:
    """Whether four places are empty, and the zeros above the first that is not, in two bits."""
    third, second, first = ((value | marks).bit(n) for n in (3, 2, 1))
    upper = value.bits(2, 2).any() | marks.bits(2, 2).any()
    return ~(value.any() | marks.any()), cat(~upper, ~third & (second | ~first))


def _pair(top: tuple[Signal, Signal], low: tuple[Signal, Signal]) -> tuple[Signal, Signal]:
    """The same of twice as many places."""
    empty, behind = top[0], mux(top[0], low[1], top[1])
    return empty & low[0], cat(empty, behind)


def _alone(top: tuple[Signal, Signal]) -> tuple[Signal, Signal]:
    """The same with as many places below that are beyond the last one: where all are empty, any number."""
    empty, behind = top
    return empty, cat(empty.net.const(0, 1), behind)


def shifted_left(value: Signal, steps: Signal) -> Signal:
    """``value`` shifted by as many places, the long ways first."""
    for level in reversed(range(steps.width)):
        value = mux(steps.bit(level), value.shl(1 << level), value)
    return value
