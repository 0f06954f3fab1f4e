"""Which pairs of accesses of one memory need an edge: those that no path of edges keeps in order.

Order within an iteration is transitive: behind the last store that may be of its element, an access is behind
everything that this store is behind. So it is with the next iteration: the last access before the first one
keeps every other pair in order. Accesses of unknown place therefore need as many edges as there are
accesses, not as many as there are pairs. Sets of accesses are the bits of integers.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence

from ...graph.nodes import Edge, Node

Meet = Callable[[Node, Node], bool]
Distance = Callable[[Node, Node], int | None]
type Behind = tuple[int, int, int, int, int, int]
"""Accesses that are ordered to one: by −2 cycles at least, which is at most two cycles on the other side of
it, by −1, by 0, by 1, by 2, and by 3."""
NOTHING: Behind = (0, 0, 0, 0, 0, 0)


class Apart:
    """Which accesses are known not to meet others, found for one and kept for all that are alike.

    Attributes:
        kinds: of each access, equal for those that are alike.
    """

    def __init__(self, nodes: Sequence[Node], alike: Callable[[Node], Hashable] | None) -> None:
        self.kinds = [k if alike is None else alike(node) for k, node in enumerate(nodes)]
        self._members: dict[Hashable, int] = defaultdict(int)
        for k, kind in enumerate(self.kinds):
            self._members[kind] |= 1 << k
        self._found: dict[Hashable, int] = defaultdict(int)

    def of(self, k: int) -> int:
        """The accesses that one is known not to meet."""
        return self._found[self.kinds[k]]

    def add(self, k: int, other: int) -> int:
        """Note that an access does not meet another; all those that it therefore does not meet."""
        members = self._members[self.kinds[other]]
        self._found[self.kinds[k]] |= members
        return members


class Orders:
    """The edges between accesses of one array, in program order.

    Args:
        nodes: the accesses.
        meet: whether two accesses of one iteration may be of one element.
        least: the least distance in iterations, at least 1, at which an access meets an earlier one again,
            None where it never does; None in place of it where iterations do not overlap.
        bypass: whether a load may take its value from a store of the same cycle; a late load also from one
            of the next, and a prompt one from one two cycles later, when its word is there.
        past: whether a load of a register may take what a store computes in the same cycle.
        alike: equal for accesses that meet the same others, in one iteration and across iterations.
    """

    def __init__(
        self,
        nodes: Sequence[Node],
        meet: Meet,
        least: Distance | None,
        *,
        bypass: bool,
        past: bool = False,
        alike: Callable[[Node], Hashable] | None = None,
    ) -> None:
        self._nodes, self._meet, self._least = nodes, meet, least
        self._bypass, self._past = bypass, past
        self._near, self._far = Apart(nodes, alike), Apart(nodes, alike)
        self._kinds = self._near.kinds
        self._distances: dict[tuple[Hashable, Hashable], int] = {}
        """The distances that were found, for all accesses that are alike."""
        self._stores = sum(1 << k for k, node in enumerate(nodes) if node.kind == "store")
        self._following: list[list[tuple[int, int]]] = [[] for _ in nodes]
        self._edges: list[Edge] = []

    def edges(self) -> list[Edge]:
        """All edges that the accesses need."""
        self._within()
        if self._least is not None:
            self._across(self._least)
        return self._edges

    def _edge(self, source: int, target: int, distance: int) -> int:
        """Add an edge; its latency in cycles."""
        first, second = self._nodes[source], self._nodes[target]
        assert first.access is not None
        array = first.access.array
        after_store = first.kind == "store"
        passes = self._bypass and (array.read_latency == 1 or from_unit(first))
        passes = passes or (self._past and past_register(first, second))
        short = passes and after_store and second.kind == "load"
        latency = 1 if after_store and not short else 0
        if short and second.access is not None and second.access.late:
            latency = -2 if second.access.prompt else -1
        self._edges.append(Edge(first, second, latency, distance, array, short))
        if not distance:
            self._following[source].append((target, latency))
        return latency

    def _within(self) -> None:
        """Edges of one iteration; each access is compared with those before it, the nearest first.

        A store may be in the cycle of a load before it. Any other pair has to be a cycle apart to
        need no edge; also a store and a load, which without an edge would not take the stored value.
        A late load may be a cycle in front of a store, and then is behind what is two in front of that; a
        prompt one two cycles.
        """
        before: list[Behind] = []
        for target, node in enumerate(self._nodes):
            is_store = node.kind == "store"
            rest = (1 << target) - 1 if is_store else self._stores & ((1 << target) - 1)
            rest &= ~self._near.of(target)
            found = NOTHING
            while rest:
                source = rest.bit_length() - 1
                rest ^= 1 << source
                if not self._meet(self._nodes[source], node):
                    rest &= ~self._near.add(target, source)
                    continue
                found = _joined(found, before[source], 1 << source, self._edge(source, target, 0))
                rest &= ~found[3]
                if is_store:
                    rest &= ~(found[2] & ~self._stores)
            before.append(found)

    def _across(self, least: Distance) -> None:
        """Edges between iterations; each access, the last first, is compared with all, the first first."""
        count = len(self._nodes)
        after, next_ones = [NOTHING] * count, [NOTHING] * count
        for source in reversed(range(count)):
            for target, latency in self._following[source]:
                after[source] = _joined(after[source], after[target], 1 << target, latency)
        everything = (1 << count) - 1
        kinds, known = self._kinds, self._distances
        for source in reversed(range(count)):
            is_store = self._nodes[source].kind == "store"
            found = NOTHING
            for target, latency in self._following[source]:
                found = _joined(found, next_ones[target], 0, latency)
            rest = (everything if is_store else self._stores) & ~(1 << source)
            rest &= ~(found[3] if is_store else found[2])
            rest &= ~self._far.of(source)
            while rest:
                target = (rest & -rest).bit_length() - 1
                rest ^= 1 << target
                distance = known.get((kinds[source], kinds[target]))
                if distance is None:
                    distance = least(self._nodes[source], self._nodes[target])
                    if distance is None:
                        rest &= ~self._far.add(source, target)
                        continue
                    known[kinds[source], kinds[target]] = distance
                latency = self._edge(source, target, distance)
                if distance > 1:
                    continue
                found = _joined(found, after[target], 1 << target, latency)
                rest &= ~(found[3] if is_store else found[2])
            next_ones[source] = found


def _joined(found: Behind, further: Behind, access: int, latency: int) -> Behind:
    """What is ordered, with an access behind an edge of some latency, and with all that is ordered to it."""
    far, near, ordered, later, third, last = further
    if latency < -1:
        new = ordered | access, later, third, last, 0, 0
    elif latency < 0:
        new = near | access, ordered | access, later, third, last, 0
    elif latency == 0:
        new = far | access, near | access, ordered | access, later, third, last
    else:
        new = far | access, far | access, near | access, ordered | access, later, third
    a, b, c, d, e, f = found
    return a | new[0], b | new[1], c | new[2], d | new[3], e | new[4], f | new[5]


def past_register(store: Node, load: Node) -> bool:
    """Whether a load of a register may take what a store computes in the same cycle."""
    first, second = store.access, load.access
    if first is None or second is None or first.array.storage != "reg":
        return False
    return first.bank is not None and second.bank is not None


def from_unit(store: Node) -> bool:
    """Whether a store writes a register with what a unit has at hand from the start of a cycle.

    A load of the same cycle can take it past the register.
    """
    access = store.access
    if access is None or access.array.storage != "reg" or access.bank is None:
        return False
    data = access.data
    made = data.operator if data is not None else None
    return made is not None and made.latency > 0 and access.predicate is None
