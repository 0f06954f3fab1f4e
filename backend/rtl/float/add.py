"""Addition and subtraction.

One path: order the operands by magnitude, align the smaller with a sticky bit, add or subtract,
normalise by the leading zeros (never below the smallest exponent, which is what makes
subnormal results), round. What overrides the result does so as resets and sets of its register.

There are two drawings. The small one finds the distance of the exponents behind the multiplexers that
order them: a bit of the difference of two values that have changed places is the same gate either way, so
that only its carries need the order. It decides the last two steps of the normalisation from the same bits,
so that both are one table with six inputs, and clears the exponent of a sum of zero in front of a register.
It asks which bits the first two steps of the alignment lose in front of these steps, where both are still
unknown. It has no gates of its own that look for a NaN: where the exponent of the larger operand is that of
infinities, it sums fractions without the bit in front, and leaves the smaller operand out but for a
difference of infinities, so that what is not zero is a NaN.
The quick one does these things earlier, for more tables.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from allo.backend.rtl.operators.netlist import Signal, cat, mux

from .formats import FloatFormat
from .parts import Unpacked, round_pack, unpack

Align = Callable[[Signal, Signal], tuple[Signal, Signal]]
"""A value shifted right, as wide as it is, and a bit: see :func:`aligned`."""
Some = Callable[[int, int], Signal]
"""Whether any of so many bits of a value is set, from one on."""


def add(
    a: Signal, b: Signal, kind: FloatFormat, align: Align | None = None, *, quick: bool = False
) -> Signal:
    """``a + b``; ``align`` shifts the smaller operand, :func:`aligned` as a rule.

    ``quick`` draws it with fewer levels of logic and more lookup tables.
    """
    net = a.net
    exponent, fraction = kind.exponent, kind.fraction
    left, right = unpack(a, kind), unpack(b, kind)
    swap = left.magnitude.ult(right.magnitude)
    subtract = left.sign ^ right.sign
    large_exponent = mux(swap, right.exponent, left.exponent)
    large_fraction = mux(swap, right.fraction, left.fraction)
    large_normal = left.normal | right.normal

    small = cat(left.normal & right.normal, mux(swap, left.fraction, right.fraction))
    two = net.const(0, 2)
    high = large_exponent.bits(1, exponent - 1).all()
    if quick:
        above, below = _distance(left, right), _distance(right, left)
        shifted, sticky = (align or aligned)(cat(small, two), mux(swap, below, above))
        top, hidden = high & large_exponent.bit(0), large_normal
    else:
        even = ~(left.normal ^ right.normal)
        small_exponent = mux(swap, left.exponent, right.exponent)
        distance = _difference(large_exponent, small_exponent, even)
        top = large_exponent.all()
        shifted, sticky = aligned_finite(cat(small, two), distance, top, subtract)
        hidden = large_normal & ~top

    # sum: carry, significand, guard, round; the sticky bit below them only takes part as a carry
    width = kind.precision + 3
    first = cat(net.const(0, 1), hidden, large_fraction, two)
    second = shifted.zext(width) ^ subtract.repeat(width)
    total = (cat(first, subtract) + cat(second, ~sticky)).bits(1, width)

    bits = max(exponent, width.bit_length())
    room = cat(large_exponent.bits(1, exponent - 1), large_exponent.bit(0) | ~large_normal)
    normal, rest, zero = _normalised(cat(total, sticky), room.zext(bits), quick=quick)
    magnitude = round_pack(
        rest.bits(0, exponent),
        normal.bits(4, kind.precision),
        normal.bit(3),
        normal.bits(0, 3).any(),
        kind,
    )

    infinite = top | (high & total.bit(-1))
    cancel = zero & subtract
    if quick:
        operand_nan = top & large_fraction.any()
        positive, nan = operand_nan | cancel, operand_nan | (top & cancel)
    else:
        positive, nan = mux(top, ~zero, cancel), top & ~zero
    sign = mux(swap, right.sign, left.sign) & ~positive
    return cat(
        sign,
        mux(infinite, net.const(-1, exponent), magnitude.bits(fraction, exponent)),
        mux(infinite, nan, magnitude.bit(fraction - 1)),
        mux(infinite, net.const(0, fraction - 1), magnitude.bits(0, fraction - 1)),
    )


def subtract(
    a: Signal, b: Signal, kind: FloatFormat, align: Align | None = None, *, quick: bool = False
) -> Signal:
    """``a - b``, as :func:`add` draws it."""
    return add(a, cat(~b.bit(-1), b.bits(0, kind.width - 1)), kind, align, quick=quick)


def _distance(left: Unpacked, right: Unpacked) -> Signal:
    """How much larger the exponent on the left is."""
    return _difference(left.exponent, right.exponent, ~(left.normal ^ right.normal))


def _difference(large: Signal, small: Signal, even: Signal) -> Signal:
    """``large - small``, and one less where ``even`` is clear.

    The exponent of subnormals counts as 1: where one operand alone is subnormal, the distance is one less.
    """
    one = large.net.const(1, 1)
    return (cat(large, one) + cat(~small, even)).bits(1, large.width)


def aligned(value: Signal, distance: Signal) -> tuple[Signal, Signal]:
    """``value >> distance``, and whether any bit was shifted out.

    Where all of the value is far below the other operand, so that it cannot change the sum, the second
    may be either: a sum less than a quarter of a unit in the last place away from a number rounds to it.
    """
    levels = min(distance.width, value.width.bit_length())
    lost = []
    width = value.width
    for level in reversed(range(levels)):
        step = 1 << level
        chosen = distance.bit(level)
        lost.append(chosen & value.bits(0, min(step, value.width)).any())
        value = mux(chosen, value.shru(step), value)
        value = value.bits(0, min(value.width, width + step - 1))
    if distance.width > levels:
        near = distance.bits(levels, distance.width - levels).none()
        value = value & near.repeat(value.width)
    return value, _any(lost)


def aligned_flat(
    value: Signal, distance: Signal, some: Some | None = None
) -> tuple[Signal, Signal]:
    """:func:`aligned` in fewer levels of tables with six inputs; it takes more tables with four.

    What two steps lose is asked of the value in front of all steps, where ``some`` may know it sooner.
    """
    levels = min(distance.width, value.width.bit_length())
    net, width = value.net, value.width
    lost = net.const(0, 1)
    some = some or partial(any_of, value)
    now = value
    for level in range(levels - 1, -1, -2):
        step = 1 << max(0, level - 1)
        far = distance.bit(level) if level else net.const(0, 1)
        near = distance.bit(max(0, level - 1))
        gone = mux(far, some(2 * step, step), some(0, step))
        lost = lost | (far & some(0, 2 * step)) | (near & gone)
        some = _moved(some, far, near, step)
        now = mux(far, now.shru(2 * step), now) if level else now
        now = mux(near, now.shru(step), now)
        now = now.bits(0, min(now.width, width + step - 1))
    if distance.width > levels:
        now = now & distance.bits(levels, distance.width - levels).none().repeat(now.width)
    return now, lost


def any_of(value: Signal, low: int, count: int) -> Signal:
    """Whether any of so many bits of a value is set, from ``low`` on; bits outside of it are not."""
    first, end = max(0, low), min(value.width, low + count)
    return value.bits(first, end - first).any() if end > first else value.net.const(0, 1)


def _moved(some: Some, far: Signal, near: Signal, step: int) -> Some:
    """The same of the value shifted right by two steps of these sizes: found in front of them, not behind."""

    def moved(low: int, count: int) -> Signal:
        places = [some(low + step * place, count) for place in range(4)]
        return mux(far, mux(near, places[3], places[2]), mux(near, places[1], places[0]))

    return moved


def aligned_finite(
    value: Signal, distance: Signal, top: Signal, subtract: Signal, some: Signal | None = None
) -> tuple[Signal, Signal]:
    """:func:`aligned` with fewer tables, for a sum that looks for NaNs; nothing where ``some`` is clear.

    Where the larger operand is no number (``top``), it is nothing, but if both operands are none, so that
    the distance is zero, and one is subtracted from the other. What the first two steps lose is asked of
    the value in front of both. The uppermost bits that neither leaves are one table and a register's reset.
    """
    net, width = value.net, value.width
    levels = min(distance.width, width.bit_length())
    near = net.const(1, 1)
    if distance.width > levels:
        near = distance.bits(levels, distance.width - levels).none()
    near = mux(top, near & cat(distance.bits(0, levels), ~subtract).none(), near)
    near = near if some is None else near & some

    far, half = distance.bit(levels - 1), distance.bit(levels - 2)
    step = 1 << (levels - 2)
    low, middle = value.bits(0, step).any(), value.bits(step, step).any()
    over = min(step, width - 2 * step)
    high = value.bits(2 * step, over).any() if over else net.const(0, 1)
    lost = [(far & (low | middle)) | (half & mux(far, high, low))]
    kept = width - step
    below = mux(far, value.shru(2 * step), value)
    below = mux(half, below.bits(step, kept), below.bits(0, kept))
    value = cat(mux(far | half, net.const(0, step), value.bits(kept, step)), below)
    for level in reversed(range(levels - 2)):
        chosen = distance.bit(level)
        lost.append(chosen & value.bits(0, 1 << level).any())
        value = mux(chosen, value.shru(1 << level), value)
    return value & near.repeat(width), _any(lost) & near


def _any(terms: list[Signal]) -> Signal:
    """Whether any holds, where the last two are late."""
    if len(terms) == 1:
        return terms[0]
    found = terms[-2] | terms[-1]
    early = terms[:-2]
    if not early:
        return found
    others = early[0]
    for term in early[1:]:
        others = others | term
    return others | found


def _normalised(total: Signal, room: Signal, *, quick: bool) -> tuple[Signal, Signal, Signal]:
    """``total`` shifted left by its leading zeros, but by ``room`` at most.

    Each step of the shift is decided by the zeros that it would remove; two steps are decided at once,
    so that they fit in one level of tables with six inputs. Once a step is not taken although there is
    room for it, the zeros left are fewer than the room left.

    Returns:
        The shifted value; ``room`` less the distance, 0 where the total is zero; whether it is zero. The
        lowest two bits of the total must be zero where its upper three are, as they are behind a
        subtraction: then the operands were aligned by one bit at most.
    """
    levels = (total.width - 1).bit_length()
    value, tail = total.bits(2, total.width - 2), total.bits(0, 2)
    half = 1 << (levels - 1)
    zero = clear(value, 0, half) & value.bits(0, value.width - half).none()
    steps = _Steps(room, levels, zero, quick=quick)
    together = 0 if quick else 2
    for level in range(levels - 1, max(together, 1) - 1, -2):
        wide, narrow = 1 << level, 1 << (level - 1)
        if quick and value.width < total.width and narrow <= 2:
            value = cat(value, tail)
        first = steps.take(level, clear(value, 0, wide))
        behind = mux(first, clear(value, wide, narrow), clear(value, 0, narrow))
        value = mux(first, value.shl(wide), value)
        if level > together:
            second = steps.take(level - 1, behind)
            value = mux(second, value.shl(narrow), value)
    if not quick:
        value = steps.last_two(cat(value, tail))
    elif levels % 2:
        value = mux(steps.stay(value.bit(-1)), value, value.shl(1))
    return value, steps.rest(), zero


def clear(value: Signal, start: int, count: int) -> Signal:
    """Whether ``count`` bits, from ``start`` below the top, are all zero."""
    count = min(count, value.width - start)
    return value.bits(value.width - start - count, count).none()


class _Steps:
    """The steps of a shift by leading zeros that stops at ``room``, largest first."""

    def __init__(self, room: Signal, levels: int, zero: Signal, *, quick: bool) -> None:
        self._room = room
        self._zero = zero
        self._quick = quick
        self._free = room.bits(levels, room.width - levels).any()
        self._taken: list[Signal] = []

    def take(self, level: int, empty: Signal) -> Signal:
        """Whether to shift by ``2**level``, where these bits at the top are ``empty``."""
        allowed = self._free | self._room.bit(level)
        step = empty & allowed
        self._free = mux(empty, self._free, allowed)
        if self._quick:
            self._taken.append(mux(self._zero, self._room.bit(level), step))
            return step
        self._taken.append(step)
        if len(self._taken) == 1:
            self._stop_at_zero()
        return step

    def _stop_at_zero(self) -> None:
        """Leave no room, and take back the first step, where the whole value is zero."""
        state = cat(self._taken[0], self._free, self._room)
        state = mux(self._zero, state.net.const(0, state.width), state)
        self._room = state.bits(0, self._room.width)
        self._free, self._taken = state.bit(-2), [state.bit(-1)]

    def last_two(self, value: Signal) -> Signal:
        """``value`` after the steps of two and of one, both decided by its upper three bits."""
        second, first = self._room.bit(1), self._room.bit(0)
        top, next_, third = value.bit(-1), value.bit(-2), value.bit(-3)
        clear = ~(top | next_)
        allowed = self._free | second
        step = clear & allowed
        stay = mux(clear, (allowed & third) | ~(self._free | first), top | ~(allowed | first))
        self._taken += [step, ~stay]
        twice, once = mux(stay, value.shl(2), value.shl(3)), mux(stay, value, value.shl(1))
        return mux(step, twice, once)

    def stay(self, top: Signal) -> Signal:
        """Whether not to shift by the last step, where the top bit is set or no room is left."""
        room = self._room.bit(0)
        found = top | ~(self._free | room)
        self._taken.append(mux(found, room.net.const(0, 1), ~self._zero | room))
        return found

    def rest(self) -> Signal:
        """The room that the steps left, 0 where the whole value is zero."""
        room, levels = self._room, len(self._taken)
        if not self._quick:
            return room - cat(*self._taken).zext(room.width)
        high = room.bits(levels, room.width - levels)
        return room - cat(high & self._zero.repeat(high.width), *self._taken)
