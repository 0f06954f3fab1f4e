"""Logic as the flattest lookup tables that it can become, on the families whose record says so.

Synthesis that minds the time takes gates apart and together again until the way to the last table is as short
as it can be, and makes those twice that this needs. The cuts of a node are joined from those of its operands,
as the scheduler does it bit by bit (:mod:`..operators.tables.bits`, with the papers): here a leaf is what all
bits of a node read at one place, as the leaves of :class:`~.nodes.Node` are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from itertools import count
from typing import NamedTuple

from ..nodes import Node, Run, Value
from ..paths import NEVER

KEPT = 6
"""Cuts that a node keeps."""

Leaf = tuple[int, int]
"""A node and a bit of it, as runs name them; a table of a tree of tables has a number below all nodes."""
Cut = frozenset[Leaf]


class Time(NamedTuple):
    """How late a leaf comes: from registers and from inputs, and the node that is before it on either way."""

    late: float
    before: int
    passed: float
    passed_before: int

    @property
    def last(self) -> float:
        """The later of the two."""
        return max(self.late, self.passed)

    def more(self, delay: float) -> Time:
        """The same after a while."""
        return Time(self.late + delay, self.before, self.passed + delay, self.passed_before)


NOTHING = Time(NEVER, -1, NEVER, -1)


def latest(times: Iterable[Time]) -> Time:
    """When all are there."""
    found = NOTHING
    for time in times:
        late, before = max((found.late, found.before), (time.late, time.before))
        passed = max((found.passed, found.passed_before), (time.passed, time.passed_before))
        found = Time(late, before, *passed)
    return found


@dataclass(slots=True)
class _Bit:
    """What a node or a table of a tree is: as a leaf of others, and its own cuts."""

    leaf: Leaf
    cuts: tuple[Cut, ...] = ()


class Flattest:
    """Times the logic of one module.

    Args:
        nodes: the module's; those that a node reads are timed before it.
        inputs: of a lookup table; ``level_ns``: through it, with the wires to it.
        time_of: how late a leaf of a node comes to what reads it.
    """

    def __init__(
        self,
        nodes: Sequence[Node],
        inputs: int,
        level_ns: float,
        time_of: Callable[[Leaf], Time],
    ) -> None:
        self._nodes, self._inputs, self._level_ns = nodes, inputs, level_ns
        self._time_of = time_of
        self._cuts: dict[int, tuple[Cut, ...]] = {}
        self._trees: dict[Leaf, Time] = {}
        self._numbers = count(-3, -1)

    def logic(self, number: int) -> Time:
        """When a node of logic is stable."""
        node = self._nodes[number]
        read = [self._read(run) for (run,) in node.operands if run[0] >= 0]
        if len(read) == 1:
            # an inverter, which the table in front of it or behind it is
            self._cuts[number] = read[0].cuts or (frozenset((read[0].leaf,)),)
            return self._time(read[0].leaf)
        if node.associative or len(read) > self._inputs:
            return self._keep(number, self._reduced(read))
        return self._keep(number, self._function(read))

    def equal(self, number: int) -> Time:
        """When it is known whether two values are the same."""
        a, b = self._nodes[number].operands
        pairs: list[_Bit] = []
        for left, right in zip(_bits(a), _bits(b), strict=True):
            read = [self._read(run) for run in (left, right) if run[0] >= 0]
            pairs += [self._tree(self._function(read))] if len(read) > 1 else read
        return self._keep(number, self._reduced(pairs))

    def onto_chain(self, operands: Sequence[Value]) -> Time:
        """When a sum's operands are at its carry chain, of which one may be logic inside its tables."""
        plain = [latest(self._run(run) for run in value) for value in operands]
        inside = [latest(self._run(run, inside=True) for run in value) for value in operands]
        ways = [latest((*plain[:k], inside[k], *plain[k + 1 :])) for k in range(len(plain))]
        return min(ways, key=lambda time: time.last, default=NOTHING)

    # --- what is read -------------------------------------------------------------------

    def _run(self, run: Run, *, inside: bool = False) -> Time:
        if run[0] < 0:
            return NOTHING
        bit = self._read(run)
        own = self._time(bit.leaf)
        fitting = [self._at(cut) for cut in bit.cuts if len(cut) < self._inputs] if inside else []
        return min((own, *fitting), key=lambda time: time.last)

    def _read(self, run: Run) -> _Bit:
        """What a run is: cuts of its node, moved to where it begins."""
        number, low, _ = run
        cuts = self._cuts.get(number, ())
        if low:
            cuts = tuple(frozenset(_moved(leaf, low) for leaf in cut) for cut in cuts)
        return _Bit((number, low), cuts)

    def _time(self, leaf: Leaf) -> Time:
        return self._trees[leaf] if leaf[0] < 0 else self._time_of(leaf)

    def _at(self, cut: Cut) -> Time:
        return latest(self._time(leaf) for leaf in cut)

    # --- tables -------------------------------------------------------------------------

    def _keep(self, number: int, cuts: list[Cut]) -> Time:
        self._cuts[number] = tuple(cuts)
        return self._at(cuts[0]).more(self._level_ns) if cuts else NOTHING

    def _function(self, read: Sequence[_Bit]) -> list[Cut]:
        """The cuts of a function, the earliest first; none is earlier than the last operand can be."""
        found: list[Cut] = [frozenset()]
        each = [(*bit.cuts, frozenset((bit.leaf,))) for bit in read]
        soonest = max((min(self._at(cut).last for cut in cuts) for cuts in each), default=NEVER)
        for cuts in each:
            joined = (known | cut for known in found for cut in cuts)
            found = self._best(joined, 2 * KEPT, soonest)
        own = frozenset(bit.leaf for bit in read)
        return self._best((*found, own)) or [own]

    def _best(self, cuts: Iterable[Cut], most: int = KEPT, soonest: float = NEVER) -> list[Cut]:
        """The earliest ones that fit in a table, none of which holds another one."""
        fitting = {
            cut: max(soonest, self._at(cut).last) for cut in cuts if len(cut) <= self._inputs
        }
        kept: list[Cut] = []
        for cut in sorted(fitting, key=lambda cut: (fitting[cut], len(cut))):
            if not any(inner <= cut for inner in kept):
                kept.append(cut)
                if len(kept) == most:
                    break
        return kept

    def _reduced(self, read: Sequence[_Bit]) -> list[Cut]:
        """The cuts of an associative function: trees that take what is early first."""
        if len(read) < 3:
            return self._function(read)
        return self._best((*self._grown(read, full=False), *self._grown(read, full=True)))

    def _grown(self, read: Sequence[_Bit], *, full: bool) -> list[Cut]:
        """The cuts of a tree of gates of two inputs, or of tables with as many as fit in no more time."""
        order = count()
        waiting = [(self._time(bit.leaf).last, next(order), bit) for bit in read]
        heapify(waiting)
        cuts: list[Cut] = []
        while len(waiting) > 1:
            cuts = self._function((heappop(waiting)[2], heappop(waiting)[2]))
            while full and waiting:
                tried = self._function((self._tree(cuts), waiting[0][2]))
                if self._at(tried[0]).last > self._at(cuts[0]).last:
                    break
                cuts = tried
                heappop(waiting)
            if waiting:
                bit = self._tree(cuts)
                heappush(waiting, (self._time(bit.leaf).last, next(order), bit))
        return cuts

    def _tree(self, cuts: list[Cut]) -> _Bit:
        leaf = next(self._numbers), 0
        self._trees[leaf] = self._at(cuts[0]).more(self._level_ns)
        return _Bit(leaf, tuple(cuts))


def _bits(value: Value) -> Iterable[Run]:
    """A value bit by bit."""
    for number, low, size in value:
        for place in range(size):
            yield number, low + place if low >= 0 else low, 1


def _moved(leaf: Leaf, low: int) -> Leaf:
    """A leaf of a node as the reader of the node's bits from ``low`` on sees it."""
    number, bit = leaf
    if bit < 0 or number < 0:
        return leaf
    return number, bit + low if low >= 0 else ~(bit + ~low)
