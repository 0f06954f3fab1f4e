"""Bits, and the lookup tables that they could be outputs of.

A *cut* of a bit is a set of other bits, its leaves, that the bit is a function of: where they are no more
than a table has inputs, one table makes the bit, a level behind the latest leaf. The cuts of a gate are
joined from those of its operands; of all of them only the few earliest are kept (*priority cuts*: Mishchenko,
Cho, Chatterjee and Brayton, "Combinational and sequential mapping with priority cuts", ICCAD 2007, section
3). A bit is as late as its earliest cut says, as in the depth-optimal cover of FlowMap (Cong and Ding, 1994).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from heapq import heapify, heappop, heappush
from itertools import count, product
from math import ceil, log

KEPT = 5
"""Cuts that a bit keeps."""

type Cut = tuple[float, int]
"""The time of the latest leaf, and the leaves, each a bit of a number."""
type Word = tuple[Bit, ...]
"""The bits of a value, the lowest first."""


class Bit:
    """One bit of a value.

    Attributes:
        time: nanoseconds into the cycle at which it is stable as the output of a table or of anything else.
        cuts: its own cuts; it is a leaf of others by its ``mark``.
    """

    __slots__ = ("cuts", "mark", "time")

    def __init__(self, time: float, mark: int, cuts: tuple[Cut, ...] = ()) -> None:
        self.time, self.mark, self.cuts = time, mark, cuts

    @property
    def options(self) -> tuple[Cut, ...]:
        """What a gate that reads the bit may have in its table instead: the bit's leaves, or itself."""
        return (*self.cuts, (self.time, self.mark))

    def inverted(self) -> Bit:
        """The complement, which the tables that read it see to."""
        return Bit(self.time, self.mark, self.cuts)

    def later(self, more: float) -> Bit:
        """The bit as those see it who are many, so that wires to them are longer."""
        cuts = tuple((time + more, leaves) for time, leaves in self.cuts)
        return Bit(self.time + more, self.mark, cuts)


ZERO, ONE = Bit(float("-inf"), 0), Bit(float("-inf"), 0)
"""The constant bits."""


def is_known(bit: Bit) -> bool:
    """Whether a bit is constant."""
    return bit is ZERO or bit is ONE


class Tables:
    """Makes bits for tables of one family.

    Args:
        inputs: of a table, and of one that is joined from several.
        level_ns: through a table, with the wires to it; ``joined_ns`` for each input beyond those of one.
    """

    def __init__(self, inputs: tuple[int, int], level_ns: float, joined_ns: float) -> None:
        (self._few, self._most), self._level_ns, self._joined_ns = inputs, level_ns, joined_ns
        self._marks = count()

    def leaf(self, time: float) -> Bit:
        """A bit that no table makes, or that none takes apart."""
        return Bit(time, 1 << next(self._marks))

    def leaves(self, time: float, width: int) -> Word:
        """A value of such bits."""
        return tuple(self.leaf(time) for _ in range(width))

    def function(self, bits: Iterable[Bit]) -> Bit:
        """A bit that is some function of others."""
        read = list({bit.mark: bit for bit in bits if not is_known(bit)}.values())
        if not read:
            return ZERO
        if len(read) == 1:
            return read[0]
        cuts = self._best(_joined(parts) for parts in product(*(bit.options for bit in read)))
        return Bit(self._through(*cuts[0]), 1 << next(self._marks), tuple(cuts))

    def table(self, bits: Iterable[Bit]) -> Bit:
        """A function of others as a table of its own: what they are made of stays outside of it."""
        read = {bit.mark: bit.time for bit in bits if not is_known(bit)}
        if not read:
            return ZERO
        late, leaves = max(read.values()), 0
        for mark in read:
            leaves |= mark
        if len(read) > self._most:
            return self.leaf(late + self._level_ns * ceil(log(len(read), self._few)))
        return Bit(self._through(late, leaves), 1 << next(self._marks), ((late, leaves),))

    def reduced(self, bits: Iterable[Bit]) -> Bit:
        """An associative function of any number of bits: a tree that takes the earliest ones first."""
        order = count()
        waiting = [(bit.time, next(order), bit) for bit in bits if not is_known(bit)]
        heapify(waiting)
        while len(waiting) > 1:
            pair = heappop(waiting)[2], heappop(waiting)[2]
            joined = self.function(pair)
            heappush(waiting, (joined.time, next(order), joined))
        return waiting[0][2] if waiting else ZERO

    def _best(self, found: Iterable[Cut]) -> list[Cut]:
        """The earliest cuts that fit in a table, none of which holds another one."""
        fitting = {leaves: time for time, leaves in found if leaves.bit_count() <= self._most}
        kept: list[Cut] = []
        for leaves, time in sorted(fitting.items(), key=self._order):
            if all(inner & leaves != inner for _, inner in kept):
                kept.append((time, leaves))
                if len(kept) == KEPT:
                    break
        return kept

    def _order(self, cut: tuple[int, float]) -> tuple[float, int]:
        leaves, time = cut
        return self._through(time, leaves), leaves.bit_count()

    def _through(self, time: float, leaves: int) -> float:
        """When the table is stable whose leaves are at ``time``."""
        more = max(0, leaves.bit_count() - self._few)
        return time + self._level_ns + more * self._joined_ns


def _joined(parts: Sequence[Cut]) -> Cut:
    """The cut of a gate that has one of each of its operands."""
    leaves = 0
    for _, inner in parts:
        leaves |= inner
    return max(time for time, _ in parts), leaves
