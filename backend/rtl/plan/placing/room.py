"""Which slots of an initiation interval are taken, of ports and of units that operations share."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from itertools import pairwise

from ...graph.nodes import Node
from ..share import Parties, is_conditional, rotates, shared_uses

MEETINGS = 8
"""Intervals in which an access looks for a cycle where those of other iterations are of other banks."""
_FOREVER = 1_000_000
"""Cycles in which a body whose iterations do not overlap looks for room."""


class Sharing:
    """Ports of a body that several accesses may share in a slot, and which of them may join others.

    Attributes:
        uses: the ports.
        alone: numbers of nodes that join no others.
        at_once: of nodes that join such as start in the same cycle.
        counted: those of ``alone`` that nothing joins either, so that they are no more than counted.
    """

    def __init__(self, nodes: Sequence[Node], uses: Mapping[int, list[Hashable]]) -> None:
        self.uses = shared_uses(nodes, uses)
        self.alone: set[int] = set()
        self.at_once: set[int] = set()
        self.counted: set[int] = set()
        sharing = [n for n in nodes if not self.uses.isdisjoint(uses.get(n.number, ()))]
        if any(b.number < a.number for a, b in pairwise(sharing)):
            return  # groups are formed again for one in front of them
        for node in sharing:
            if rotates(node) or node.party >= 0 or len(uses[node.number]) > 1:
                continue
            (self.at_once if is_conditional(node) else self.alone).add(node.number)
        if not any(map(rotates, sharing)):
            self.counted = self.alone


class _Slots:
    """The slots of one port or unit: how many uses each has, and behind a full one the next to look at."""

    __slots__ = ("_after", "_counts", "_ii", "most", "starts")

    def __init__(self, most: int, ii: int | None) -> None:
        self.most = most
        self.starts: set[int] = set()
        """Cycles in which accesses that share start."""
        self._ii = ii
        self._counts: dict[int, int] = {}
        self._after: dict[int, int] = {}

    def first(self, time: int) -> int | None:
        """The first cycle from one on with room in its slot."""
        after, ii = self._after, self._ii
        begun = slot = time if ii is None else time % ii
        following = after.get(slot)
        if following is None:
            return time
        if len(after) == ii:
            return None
        while following is not None:
            further = after.get(following)
            if further is not None:
                after[slot] = further
            slot, following = following, further
        return time + (slot - begun if ii is None else (slot - begun) % ii)

    def has_room(self, slot: int) -> bool:
        """Whether one use more fits."""
        return slot not in self._after

    def take(self, slot: int) -> None:
        """Take in a use."""
        self.set(slot, self._counts.get(slot, 0) + 1)

    def counted(self, slot: int, present: Parties) -> int:
        """The uses of a slot beside those of parties."""
        return self._counts.get(slot, 0) - len(present)

    def set(self, slot: int, count: int) -> None:
        """Say how many uses a slot has."""
        self._counts[slot] = count
        if count >= self.most:
            following = slot + 1 if self._ii is None else (slot + 1) % self._ii
            self._after.setdefault(slot, following)


class Room:
    """The slots of all ports and units in one pass over a body.

    Args:
        capacity: how many uses of a resource fit in one slot; a missing one has no limit.
        ii: the initiation interval, None where iterations do not overlap.

    Attributes:
        refused: whether a node waited for a unit, so that more units could make a difference.
    """

    def __init__(self, capacity: Mapping[Hashable, int], sharing: Sharing, ii: int | None) -> None:
        self._ii, self._sharing = ii, sharing
        self._slots = {use: _Slots(most, ii) for use, most in capacity.items()}
        self._present: dict[tuple[Hashable, int], Parties] = {}
        self.refused = False

    def place(self, node: Node, uses: list[Hashable], time: int) -> int | None:
        """Take the first cycle from ``time`` on with room for all uses of a node; None for none."""
        use, ii, sharing = uses[0], self._ii, self._sharing
        slots = self._slots.get(use)
        if len(uses) == 1 and (use not in sharing.uses or node.number in sharing.counted):
            return self._place_one(use, slots, time)
        if slots is not None and node.number in sharing.alone:
            found = slots.first(time)
        elif slots is not None and node.number in sharing.at_once:
            found = self._place_at_once(node, use, slots, time)
        else:
            found = self._search(node, uses, time)
        if found is not None:
            slot = found % ii if ii is not None else found
            for use in uses:
                self._take(node, use, found, slot)
        return found

    def _place_one(self, use: Hashable, slots: _Slots | None, time: int) -> int | None:
        """Take the first cycle with room for one more, which shares with no other."""
        if slots is None:
            return time
        found = slots.first(time)
        if found != time and is_unit(use):
            self.refused = True
        if found is not None:
            slots.take(found if self._ii is None else found % self._ii)
        return found

    def _place_at_once(self, node: Node, use: Hashable, slots: _Slots, time: int) -> int | None:
        """The first cycle with room, or with accesses that start in it and exclude the node."""
        found, ii = slots.first(time), self._ii
        for cycle in range(time, found if found is not None else time + (ii or 0)):
            if cycle in slots.starts:
                slot = cycle % ii if ii is not None else cycle
                present = self._present[use, slot]
                if present.has_room(node, cycle, slots.most - slots.counted(slot, present)):
                    return cycle
        return found

    def _search(self, node: Node, uses: list[Hashable], time: int) -> int | None:
        ii = self._ii
        limit = time + ii if ii is not None else time + _FOREVER
        if ii is not None and rotates(node):
            # An interval later other iterations are beside it.
            limit += (MEETINGS - 1) * ii
        for cycle in range(time, limit):
            slot = cycle % ii if ii is not None else cycle
            if all(self._fits(node, use, cycle, slot) for use in uses):
                return cycle
        return None

    def _fits(self, node: Node, use: Hashable, cycle: int, slot: int) -> bool:
        """Whether a use has room in a slot, or joins accesses there that exclude the node."""
        slots = self._slots.get(use)
        if slots is None:
            return True
        if use not in self._sharing.uses:
            return slots.has_room(slot)
        present = self._present.get((use, slot))
        if present is None:
            return slots.has_room(slot)
        most = slots.most - slots.counted(slot, present)
        return len(present) < most or present.has_room(node, cycle, most)

    def _take(self, node: Node, use: Hashable, cycle: int, slot: int) -> None:
        slots = self._slots.get(use)
        if slots is None:
            return
        if use not in self._sharing.uses:
            slots.take(slot)
            return
        parties = self._present.get((use, slot))
        if parties is None:
            parties = self._present[use, slot] = Parties(ii=self._ii or 0)
        alone = slots.counted(slot, parties)
        parties.add(node, cycle)
        slots.set(slot, alone + len(parties))
        slots.starts.add(cycle)


def is_unit(use: Hashable) -> bool:
    """Whether a resource is a unit that operations may share."""
    return isinstance(use, tuple) and use[0] == "unit"
