"""Later is better for registers: scheduled nodes move to just before their first use where that saves bits.

Loads, and logic as wide as what it computes from, always go. Anything else goes where the registers that
it no longer needs are at least those that its operands then need, which may go with it: a product that
waits for its turn in a sum takes its two loads along, and nothing waits but their address.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Mapping

from ..graph.nodes import Body, Edge, Node
from .mapped import Mapped
from .share import User, parties, shared_uses
from .timing_model import TimingModel

_DEEP = 6
"""Operands of operands that are asked whether they can go along."""
_FOREVER = 1 << 30


class Sinker:
    """Moves the nodes of one scheduled body.

    Args:
        uses: ports and shared units that a node takes for a slot, by node number.
        capacity: how many uses of a port fit in a slot. Of units no more are used than before.
        ii: the initiation interval, None where iterations do not overlap.
        mapped: what times recurrences as lookup tables; these nodes stay where they are.
    """

    def __init__(
        self,
        body: Body,
        timing: TimingModel,
        uses: Mapping[int, list[Hashable]],
        capacity: Mapping[Hashable, int],
        ii: int | None,
        mapped: Mapped | None = None,
    ) -> None:
        self._body, self._timing, self._uses, self._ii = body, timing, uses, ii
        self._mapped = mapped
        self._users: dict[int, list[Node]] = defaultdict(list)
        self._last: dict[int, int] = {}
        for node in body.nodes:
            for operand in {o.number: o for o in node.operands}.values():
                self._users[operand.number].append(node)
                self._read(operand, node.time)
        taken = (edge for edge in body.edges if edge.passes_register or edge.passes_word)
        self._passed = {edge.source.number for edge in taken}
        """Stores whose values loads take on their way, so that these must not come later."""
        self._prompt = {edge.source.number for edge in body.edges if edge.passes_word}
        """Stores of which it is asked a cycle sooner whether they meet a load."""
        self._outgoing: dict[int, list[Edge]] = defaultdict(list)
        for edge in body.edges:
            if edge.distance == 0 or ii is not None:
                self._outgoing[edge.source.number].append(edge)
        self._shared = shared_uses(body.nodes, uses)
        self._present: dict[tuple[Hashable, int], list[User]] = defaultdict(list)
        self._taken: dict[tuple[Hashable, int], int] = defaultdict(int)
        self._capacity: dict[Hashable, int] = {}
        for node in body.nodes:
            for use in uses.get(node.number, ()):
                slot = use, self._slot(node.time)
                if use in self._shared:
                    self._present[slot].append((node, node.time))
                    self._taken[slot] = len(parties(self._present[slot], ii or 0))
                else:
                    self._taken[slot] += 1
                peak = max(self._capacity.get(use, 0), self._taken[slot])
                self._capacity[use] = max(peak, _ports(use, capacity))

    def run(self) -> None:
        """Move what can go later, users before what they use."""
        for node in reversed(self._body.nodes):
            users = self._users.get(node.number)
            if node.crosses or not users or not self._may_move(node):
                continue
            latest = min(self._latest_start(node, users), self._latest_by_order(node))
            if latest <= node.time:
                continue
            time = self._free_slot(node, latest)
            if time > node.time and (self._always(node) or self._saves(node, time)):
                self._move(node, time)

    def _may_move(self, node: Node) -> bool:
        return node.kind in ("load", "wire", "lin", "op") and not self._is_mapped(node)

    def _is_mapped(self, node: Node) -> bool:
        return self._mapped is not None and self._mapped.has(node)

    def _read(self, node: Node, time: int) -> None:
        self._last[node.number] = max(time, self._last.get(node.number, 0))

    def _slot(self, time: int) -> int:
        return time % self._ii if self._ii else time

    # --- how late -----------------------------------------------------------------

    def _latest_start(self, node: Node, users: list[Node]) -> int:
        """The last cycle in which the node can start with its result in time for every user."""
        latest = _FOREVER
        for user in users:
            fits = self._fits(node, user, user.settle) and not self._asked_sooner(node, user)
            latest = min(latest, user.time if fits else user.time - 1)
        return latest - node.latency

    def _asked_sooner(self, node: Node, user: Node) -> bool:
        """Whether a node says where or whether a store happens that is asked so a cycle sooner."""
        return user.number in self._prompt and node in user.operands[1:]

    def _fits(self, node: Node, user: Node, settle: float) -> bool:
        """Whether a user that settles at a time can take the result in the cycle in which it appears."""
        timing = self._timing
        own = timing.exit(node) if node.latency else timing.entry(node)
        if self._is_mapped(user):
            return own == 0.0
        ends = user.latency > 0 or user.kind in ("store", "put")
        ends = ends and user.number not in self._passed
        return own + timing.entry(user) <= (timing.budget if ends else settle)

    def _latest_by_order(self, node: Node) -> int:
        latest = _FOREVER
        for edge in self._outgoing.get(node.number, ()):
            room = edge.target.time + edge.distance * (self._ii or 0) - edge.latency
            latest = min(latest, room)
        return latest

    def _free_slot(self, node: Node, latest: int) -> int:
        """The last cycle up to ``latest`` in which what the node takes is free; its own if none is."""
        uses = self._uses.get(node.number, ())
        for time in range(latest, node.time, -1):
            slot = self._slot(time)
            same = slot == self._slot(node.time)
            if all(
                self._joins(node, time, use, slot)
                if use in self._shared
                else same or self._taken[use, slot] < self._capacity[use]
                for use in uses
            ):
                return time
        return node.time

    def _joins(self, node: Node, time: int, use: Hashable, slot: int) -> bool:
        """Whether a node finds room in a slot beside accesses that may exclude each other."""
        users = [user for user in self._present[use, slot] if user[0] is not node]
        left = [u for u in self._present[use, self._slot(node.time)] if u[0] is not node]
        most = max(
            len(parties([*users, (node, time)], self._ii or 0)), len(parties(left, self._ii or 0))
        )
        return most <= self._capacity[use]

    def _move(self, node: Node, time: int) -> None:
        before, after = self._slot(node.time), self._slot(time)
        for use in self._uses.get(node.number, ()):
            if use in self._shared:
                self._present[use, before].remove((node, node.time))
                self._present[use, after].append((node, time))
            else:
                self._taken[use, before] -= 1
                self._taken[use, after] += 1
        node.time = time
        node.avail = time + node.latency
        timing = self._timing
        node.settle = timing.exit(node) if node.latency else timing.entry(node)
        for operand in node.operands:
            self._read(operand, time)

    # --- whether it pays ------------------------------------------------------------

    def _always(self, node: Node) -> bool:
        if node.kind == "load":
            return True
        if node.latency:
            return False
        inside = {o.number: o.width for o in node.operands if o.kind != "const"}
        if not any(o.body is self._body for o in node.operands):
            return True
        # Several values in one are one register, not several.
        joined = node.kind == "wire" and len(inside) > 1
        return sum(inside.values()) <= node.width - int(joined)

    def _saves(self, node: Node, time: int) -> bool:
        last = self._last[node.number]
        saved = self._held(node, node.avail, last) - self._held(node, time + node.latency, last)
        if saved <= 0:
            return False
        return self._extra(node, time, _DEEP) <= saved

    def _extra(self, node: Node, time: int, depth: int) -> int:
        """Register bits that a node's operands need for it to start at a later time."""
        operands = {o.number: o for o in node.operands}.values()
        return sum(self._longer(operand, node, time, depth) for operand in operands)

    def _longer(self, node: Node, user: Node, time: int, depth: int) -> int:
        """Register bits for a value to be there when a user that moves starts.

        Negative where the value goes along and holds fewer then.
        """
        last = self._last[node.number]
        if time <= last or node.kind == "const":
            return 0
        if node.body is not self._body:
            # A counter moves on; anything else of outside stays as it is.
            return self._held(node, 0, time) - self._held(node, 0, last) if node.kind == "iv" else 0
        before = self._held(node, node.avail, last)
        waits = self._held(node, node.avail, time) - before
        alone = len(self._users[node.number]) == 1 and not node.crosses
        if not depth or not alone or not self._may_move(node):
            return waits
        ready = time if self._fits(node, user, self._timing.entry(user)) else time - 1
        start = min(ready - node.latency, self._latest_by_order(node))
        if start <= node.time:
            return waits
        goes = self._held(node, start + node.latency, time) - before
        return min(waits, goes + self._extra(node, start, depth - 1))

    def _held(self, node: Node, born: int, time: int) -> int:
        """Register bits that keep a value from one cycle to another."""
        if time <= born:
            return 0
        return node.width * (-(-(time - born) // self._ii) if self._ii else 1)


def _ports(use: Hashable, capacity: Mapping[Hashable, int]) -> int:
    """Room for the accesses of a port; of units, that is what the schedule takes."""
    is_unit = isinstance(use, tuple) and use[0] == "unit"
    return 0 if is_unit else capacity.get(use, _FOREVER)
