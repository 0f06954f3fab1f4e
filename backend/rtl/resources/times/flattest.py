"""Logic as the flattest lookup tables that it can become, on the families whose record says so.

Synthesis that minds the time takes gates apart and together again until the way to the last table is as short
as it can be, and makes those twice that this needs. The cuts of a node are joined from those of its operands,
as the scheduler does it bit by bit (:mod:`...operators.tables.bits`, with the papers): here a leaf is what
all bits of a node read at one place, as the leaves of :class:`~..nodes.Node` are.

Which cut is the earliest is a matter of the delays that synthesis knows, where the record has them: it takes
wires for short and inputs of multiplexers for quick, and so makes chains of them that are long once routed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from itertools import count
from typing import NamedTuple

from allo.backend.devices import Cells, MappingDelays, SignalDelays

from ..nodes import Node, Run, Value
from ..paths import NEVER

KEPT, KEPT_PLANNED = 6, 10
"""Cuts that a node keeps; more of them where each number of inputs has its own delay."""
AT_ONCE = 1e-9

Leaf = tuple[int, int]
"""A node and a bit of it, as runs name them; a table of a tree of tables has a number below all nodes."""
Cut = frozenset[Leaf]


class Time(NamedTuple):
    """How late a leaf comes: from registers and from inputs, and the node that is before it on either way.

    It is as late as its last bit; the first one comes ``ahead`` of it, or ``passed_ahead``. Synthesis takes
    it to be as late as ``planned``, with the first bit ``planned_ahead``.
    """

    late: float
    before: int
    passed: float
    passed_before: int
    ahead: float = 0.0
    passed_ahead: float = 0.0
    planned: float = NEVER
    planned_ahead: float = 0.0

    @property
    def last(self) -> float:
        """The later of the two."""
        return max(self.late, self.passed)

    def more(self, delay: float) -> Time:
        """The same after a while."""
        return self._replace(late=self.late + delay, passed=self.passed + delay)

    def planned_more(self, delay: float) -> Time:
        """The same, which synthesis takes to come after a while."""
        return self._replace(planned=self.planned + delay)

    def skewed(self, first: Time, most: float, planned: float) -> Time:
        """The same with a first bit as late as another time is, at most so much sooner than the last."""
        late, passed, seen = (
            min(limit, max(0.0, last - low)) if low > NEVER else 0.0
            for last, low, limit in (
                (self.late, first.late, most),
                (self.passed, first.passed, most),
                (self.planned, first.planned, planned),
            )
        )
        return self._replace(ahead=late, passed_ahead=passed, planned_ahead=seen)

    def along(self, bit_ns: float, planned_ns: float, low: int, count: int) -> Time:
        """When a carry must be at bit 0, which takes so long a bit, to be no sooner than these bits are."""
        late, passed, planned = (
            max(last - each * (low + count - 1), last - ahead - each * low)
            for last, ahead, each in (
                (self.late, self.ahead, bit_ns),
                (self.passed, self.passed_ahead, bit_ns),
                (self.planned, self.planned_ahead, planned_ns),
            )
        )
        return Time(late, self.before, passed, self.passed_before, planned=planned)


NOTHING = Time(NEVER, -1, NEVER, -1)


def latest(times: Iterable[Time]) -> Time:
    """When all are there."""
    found, low, passed_low, planned, first = NOTHING, NEVER, NEVER, NEVER, NEVER
    for time in times:
        late = max((found.late, found.before), (time.late, time.before))
        passed = max((found.passed, found.passed_before), (time.passed, time.passed_before))
        low, passed_low = (
            max(low, time.late - time.ahead),
            max(passed_low, time.passed - time.passed_ahead),
        )
        planned = max(planned, time.planned)
        first = max(first, time.planned - time.planned_ahead)
        found = Time(*late, *passed)
    if found.late > low > NEVER:
        found = found._replace(ahead=found.late - low)
    if found.passed > passed_low > NEVER:
        found = found._replace(passed_ahead=found.passed - passed_low)
    ahead = planned - first if planned > first > NEVER else 0.0
    return found._replace(planned=planned, planned_ahead=ahead)


@dataclass(frozen=True, slots=True)
class LookupTables:
    """What logic becomes.

    Attributes:
        inputs: of a lookup table; ``level_ns``: through it, with the wires to it.
        joined: inputs of the largest function that multiplexers join from several tables. Each of the
            inputs that it has more is that of a multiplexer, and costs the inputs before it ``joined_ns``.
        in_chains: whether the tables of a carry chain take in logic of an operand.
        skewed: whether the bits of a node come one after the other.
        mapping: the delays that synthesis chooses tables by, where they are others.
    """

    inputs: int
    level_ns: float
    joined: int
    joined_ns: float
    in_chains: bool
    skewed: bool = False
    mapping: MappingDelays | None = None

    @classmethod
    def of(cls, family: Cells, delays: SignalDelays) -> LookupTables:
        """Those of a family."""
        level_ns = delays.wire + delays.table
        joined = delays.joined_inputs, delays.joined
        skewed, mapping = delays.skewed, delays.mapping
        return cls(family.inputs, level_ns, *joined, family.carry_absorbs, skewed, mapping)

    @property
    def most(self) -> int:
        """Inputs of the largest function."""
        return max(self.inputs, self.joined)

    @property
    def sizes(self) -> Iterable[int]:
        """The inputs of the tables that a tree of gates is tried to be made of."""
        return (self.inputs,) if self.mapping is None else range(self.inputs, self.most + 1)

    @property
    def kept(self) -> int:
        """How many cuts a node keeps."""
        return KEPT if self.mapping is None else KEPT_PLANNED

    def order(self, time: Time) -> float:
        """What is earlier for synthesis."""
        return time.last if self.mapping is None else time.planned

    def planned(self, times: Sequence[Time]) -> float:
        """When synthesis takes a table to be stable that reads these, the last one first."""
        if self.mapping is None or not times:
            return NEVER
        pins, wire = (
            self.mapping.pins[min(len(times), len(self.mapping.pins)) - 1],
            self.mapping.wire,
        )
        return max(t.planned + wire + pins[min(k, len(pins) - 1)] for k, t in enumerate(times))


@dataclass(slots=True)
class _Bit:
    """What a node or a table of a tree is: as a leaf of others, and its own cuts."""

    leaf: Leaf
    cuts: tuple[Cut, ...] = ()


class Flattest:
    """Times the logic of one module.

    Args:
        nodes: the module's; those that a node reads are timed before it.
        tables: the lookup tables of the family.
        time_of: how late a leaf of a node comes to what reads it.
    """

    def __init__(
        self, nodes: Sequence[Node], tables: LookupTables, time_of: Callable[[Leaf], Time]
    ) -> None:
        self._nodes, self._tables, self._time_of = nodes, tables, time_of
        self._cuts: dict[int, tuple[Cut, ...]] = {}
        self._trees: dict[Leaf, Time] = {}
        self._known: dict[Cut, Time] = {}
        self._numbers = count(-3, -1)

    def logic(self, number: int) -> Time:
        """When a node of logic is stable."""
        node = self._nodes[number]
        read = [self._read(run) for (run,) in node.operands if run[0] >= 0]
        if len(read) == 1:
            # an inverter, which the table in front of it or behind it is
            self._cuts[number] = read[0].cuts or (frozenset((read[0].leaf,)),)
            return self._time(read[0].leaf)
        if node.associative or len(read) > self._tables.most:
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

    def onto_chain(self, operands: Sequence[Value], bit_ns: float = 0.0) -> Time:
        """When a sum's operands are at its carry chain, of which one may be logic inside its tables.

        Where the carry takes ``bit_ns`` a bit, it is not waited for at bits to which it comes later.
        """
        plain = [self._onto(value, bit_ns) for value in operands]
        inside = [self._onto(value, bit_ns, inside=True) for value in operands]
        ways = [latest((*plain[:k], inside[k], *plain[k + 1 :])) for k in range(len(plain))]
        return min(ways, key=self._tables.order, default=NOTHING)

    def first_bit(self, operands: Sequence[Value]) -> Time:
        """When the lowest bits of values are there."""
        lowest = [value[0] for value in operands if value and value[0][0] >= 0]
        return latest(self._time((node, min(low, ~low))) for node, low, _ in lowest)

    def _onto(self, value: Value, bit_ns: float, *, inside: bool = False) -> Time:
        found, low, mapping = [], 0, self._tables.mapping
        planned_ns = mapping.carry_bit if mapping is not None else bit_ns
        for run in value:
            time = self._run(run, inside=inside)
            found.append(time.along(bit_ns, planned_ns, low, run[2]) if bit_ns else time)
            low += run[2]
        return latest(found)

    def joining(self, runs: Sequence[Run]) -> float:
        """How much later than the last of several bits a gate of all of them is."""
        read = [self._read(run) for run in runs]
        cuts = self._reduced(read)
        last = latest(self._time(bit.leaf) for bit in read).last
        if not cuts or last == NEVER:
            return 0.0
        return max(0.0, self._at(cuts[0]).last + self._tables.level_ns - last)

    # --- what is read -------------------------------------------------------------------

    def _run(self, run: Run, *, inside: bool = False) -> Time:
        if run[0] < 0:
            return NOTHING
        bit = self._read(run)
        own = self._time(bit.leaf)
        inside = inside and self._tables.in_chains
        fitting = [self._at(c) for c in bit.cuts if inside and len(c) < self._tables.inputs]
        return min((own, *fitting), key=self._tables.order)

    def _read(self, run: Run) -> _Bit:
        """What a run is: cuts of its node, moved to where it begins."""
        number, low, size = run
        cuts = self._cuts.get(number, ())
        if self._tables.skewed and size == 1 and low >= 0 and self._nodes[number].width > 1:
            low = ~low
        if low:
            cuts = tuple(frozenset(_moved(leaf, low) for leaf in cut) for cut in cuts)
        return _Bit((number, low), cuts)

    def _time(self, leaf: Leaf) -> Time:
        return self._trees[leaf] if leaf[0] < 0 else self._time_of(leaf)

    def _at(self, cut: Cut) -> Time:
        """When the leaves of a cut are there, those in front of multiplexers so much earlier."""
        if cut not in self._known:
            self._known[cut] = self._found(cut)
        return self._known[cut]

    def _found(self, cut: Cut) -> Time:
        more, joined = len(cut) - self._tables.inputs, self._tables.joined_ns
        times = [self._time(leaf) for leaf in cut]
        if more <= 0 and self._tables.mapping is None:
            return latest(times)
        times.sort(key=self._tables.order, reverse=True)
        late = latest(t.more(joined * min(k, max(0, more))) for k, t in enumerate(times))
        return late._replace(planned=self._tables.planned(times), planned_ahead=0.0)

    def _order(self, cut: Cut) -> float:
        return self._tables.order(self._at(cut))

    # --- tables -------------------------------------------------------------------------

    def _keep(self, number: int, cuts: list[Cut]) -> Time:
        self._cuts[number] = tuple(cuts)
        return self._at(cuts[0]).more(self._tables.level_ns) if cuts else NOTHING

    def _function(self, read: Sequence[_Bit]) -> list[Cut]:
        """The cuts of a function, the earliest first; none is earlier than the last operand can be."""
        found: list[Cut] = [frozenset()]
        each = [(*bit.cuts, frozenset((bit.leaf,))) for bit in read]
        soonest = max((min(self._order(cut) for cut in cuts) for cuts in each), default=NEVER)
        for cuts in each:
            joined = (known | cut for known in found for cut in cuts)
            found = self._best(joined, 2 * self._tables.kept, soonest)
        own = frozenset(bit.leaf for bit in read)
        return self._best((*found, own), self._tables.kept) or [own]

    def _best(self, cuts: Iterable[Cut], most: int, soonest: float = NEVER) -> list[Cut]:
        """The earliest ones that fit in a table, none of which holds another one."""
        fitting = {
            cut: max(soonest, self._order(cut)) for cut in cuts if len(cut) <= self._tables.most
        }
        kept: list[Cut] = []
        for cut in sorted(fitting, key=lambda cut: (fitting[cut], len(cut))):
            if not any(inner <= cut for inner in kept):
                kept.append(cut)
                if len(kept) == most:
                    break
        return kept

    def _reduced(self, read: Sequence[_Bit]) -> list[Cut]:
        """The cuts of an associative function: trees that take what is early first, and no constants."""
        read = [bit for bit in read if frozenset() not in bit.cuts]
        if len(read) < 3:
            return self._function(read)
        sizes = (size for size in self._tables.sizes if size <= max(len(read), self._tables.inputs))
        found = [cut for size in (0, *sizes) for cut in self._grown(read, size)]
        return self._best(found, self._tables.kept)

    def _grown(self, read: Sequence[_Bit], size: int) -> list[Cut]:
        """The cuts of a tree of gates of two inputs, or of tables with as many as fit, up to ``size``."""
        order = count()
        waiting = [(self._tables.order(self._time(bit.leaf)), next(order), bit) for bit in read]
        heapify(waiting)
        cuts: list[Cut] = []
        while len(waiting) > 1:
            pair = heappop(waiting)[2], heappop(waiting)[2]
            cuts, group = self._function(pair), frozenset(bit.leaf for bit in pair)
            limit = self._limit(cuts[0], size)
            while size and waiting:
                group |= {waiting[0][2].leaf}
                tried = self._function((self._tree(cuts), waiting[0][2]))
                tried = self._with_group(tried, group)
                if self._order(tried[0]) > limit:
                    break
                cuts = tried
                heappop(waiting)
            if waiting:
                bit = self._tree(cuts)
                heappush(waiting, (self._tables.order(self._time(bit.leaf)), next(order), bit))
        return cuts

    def _with_group(self, cuts: list[Cut], group: Cut) -> list[Cut]:
        """Cuts with one that reads a whole group, which many that read into it may have crowded out."""
        if self._tables.mapping is None or len(group) > self._tables.most or group in cuts:
            return cuts
        return sorted((*cuts, group), key=self._order)

    def _limit(self, cut: Cut, size: int) -> float:
        """How late a table may be that takes in more: as it is, or as one of ``size`` inputs is."""
        mapping = self._tables.mapping
        if mapping is None or not size:
            return self._order(cut)
        return max(self._time(leaf).planned for leaf in cut) + mapping.through(size) + AT_ONCE

    def _tree(self, cuts: list[Cut]) -> _Bit:
        leaf = next(self._numbers), 0
        self._trees[leaf] = self._at(cuts[0]).more(self._tables.level_ns)
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
