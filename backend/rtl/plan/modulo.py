"""Modulo scheduling of one body.

Starting times are the least solution of a system of difference constraints (data flow with
chaining inside a cycle, memory orders with their iteration distances), raised where a port or a
unit is taken in that slot. An initiation interval fails when the constraints have no solution;
the constraint cycle that shows it becomes the explanation.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable
from dataclasses import dataclass, field

from ..graph.nodes import ASKS, Body, Edge, Node
from .mapped import Mapped
from .share import Parties, rotates, shared_uses, without_twins
from .sink import Sinker
from .timing_model import TimingModel

MAX_ROUNDS, FEWEST_ROUNDS = 64, 8
ROUNDED_NODES = 40_000
"""Nodes that all rounds of one attempt place: in a larger body than most there are fewer rounds."""
MEETINGS = 8
"""Intervals in which an access looks for a cycle where those of other iterations are of other banks."""
PATIENCE = 2
"""Rounds before a cycle among the critical constraints is taken as proof of failure."""
STEADY = 8
"""Rounds of equal growth after which a cycle that waits for ports as well is taken as one."""


@dataclass(slots=True)
class Recurrence:
    """A cycle of constraints.

    Attributes:
        latency: its cycles, without those in which its nodes waited for a port or a unit, because another
            initiation interval has other waits.
        waits: the cycles of those.
        distance: its iterations.
    """

    latency: int
    distance: int
    edges: list[Edge]
    path: list[Node]
    waits: int = 0

    @property
    def least_ii(self) -> int:
        """The smallest initiation interval that the cycle allows, in cycles."""
        return -(-self.latency // self.distance) if self.distance else 1

    def exceeds(self, ii: int, *, waiting: bool) -> bool:
        """Whether the cycle takes longer than its iterations allow, with its waits or without."""
        return self.latency + (self.waits if waiting else 0) > self.distance * ii


@dataclass(slots=True)
class Growth:
    """How starting times grow from round to round.

    Attributes:
        rounds: for how many rounds the same edge raised them by the same cycles in all.
    """

    rounds: int = 0
    _raised: Edge | None = None
    _sum: int = 0
    _step: int = 0

    def note(self, raised: Edge, total: int) -> None:
        """Take in a round: the last edge that raised a time, and the sum of the times asked for."""
        step = total - self._sum
        self.rounds = self.rounds + 1 if raised is self._raised and step == self._step else 0
        self._raised, self._sum, self._step = raised, total, step


@dataclass(slots=True)
class Attempt:
    """What came of one initiation interval."""

    ok: bool
    recurrence: Recurrence | None = None
    resource: Hashable | None = None


@dataclass(slots=True)
class Scheduler:
    """Schedules one body.

    Attributes:
        capacity: how many uses of a resource fit in one slot; a missing one has no limit.
        mapped: times the logic of recurrences as lookup tables; None: by operations.
    """

    body: Body
    timing: TimingModel
    capacity: dict[Hashable, int] = field(default_factory=dict)
    mapped: Mapped | None = None
    _incoming: dict[int, list[Edge]] = field(default_factory=dict)
    _carried: list[Edge] = field(default_factory=list)
    _uses: dict[int, list[Hashable]] = field(default_factory=dict)
    _critical: dict[int, Node | Edge | None] = field(default_factory=dict)
    _waits: dict[int, int] = field(default_factory=dict)
    _started: dict[int, float] = field(default_factory=dict)
    _shared: frozenset[Hashable] = frozenset()
    _present: dict[tuple[Hashable, int], Parties] = field(default_factory=dict)

    def __post_init__(self) -> None:
        incoming: dict[int, list[Edge]] = defaultdict(list)
        for edge in self.body.edges:
            if edge.distance or edge.back:
                self._carried.append(edge)
            else:
                incoming[edge.target.number].append(edge)
        self._incoming = incoming
        found = {node.number: resources_of(node) for node in self.body.nodes}
        self._uses = without_twins({number: uses for number, uses in found.items() if uses})
        self._shared = shared_uses(self.body.nodes, self._uses)

    def demand(self) -> Counter[Hashable]:
        """How many slots each resource needs in one iteration."""
        counts: Counter[Hashable] = Counter()
        for uses in self._uses.values():
            counts.update(uses)
        return counts

    def attempt(self, ii: int | None) -> Attempt:
        """Set the times of all nodes for an initiation interval (None: no overlap)."""
        floor: dict[int, int] = {}
        carried = self._carried if ii is not None else []
        rounds = self._rounds() if carried else 1
        raised: Edge | None = None
        growth = Growth()
        for number_of_round in range(rounds):
            blocked = self._forward(floor, ii)
            if blocked is not None:
                return Attempt(False, resource=blocked)
            raised = None
            for edge in carried:
                assert ii is not None
                need = edge.source.time + edge.latency - edge.distance * ii
                if need > edge.target.time:
                    number = edge.target.number
                    if need > floor.get(number, 0):
                        floor[number] = need
                        self._critical[number] = edge
                    raised = edge
            if raised is None:
                Sinker(self.body, self.timing, self._uses, self.capacity, ii, self.mapped).run()
                return Attempt(True)
            growth.note(raised, sum(floor.values()))
            if number_of_round >= PATIENCE and ii is not None:
                found = self._recurrence(raised)
                if found is not None and found.exceeds(ii, waiting=growth.rounds >= STEADY):
                    return Attempt(False, recurrence=found)
        return Attempt(False, recurrence=self._recurrence(raised))

    def _rounds(self) -> int:
        return max(FEWEST_ROUNDS, min(MAX_ROUNDS, ROUNDED_NODES // max(1, len(self.body.nodes))))

    # --- forward pass ----------------------------------------------------------

    def _forward(self, floor: dict[int, int], ii: int | None) -> Hashable | None:
        """Earliest times in program order; the resource that never has room, if one."""
        taken: dict[tuple[Hashable, int], int] = {}
        body, budget, critical = self.body, self.timing.budget, self._critical
        mapped = self.mapped
        self._present = defaultdict(lambda: Parties(ii=ii or 0))
        for node in body.nodes:
            number = node.number
            time = floor.get(number, 0)
            if not (time and isinstance(critical.get(number), Edge)):
                critical[number] = None
            for edge in self._incoming.get(number, ()):
                need = edge.source.time + edge.latency
                if need > time:
                    time = need
                    critical[number] = edge
            start = 0.0
            if mapped is not None and mapped.has(node):
                self._place_mapped(mapped, node, time)
                continue
            for operand in node.operands:
                if operand.body is not body:
                    continue
                if operand.avail > time:
                    time, start = operand.avail, operand.settle
                    critical[number] = operand
                elif operand.avail == time and operand.settle > start:
                    start = operand.settle
            start = max(start, self._behind_streams(node, time))
            delay = self.timing.entry(node)
            if start > 0.0 and start + delay > budget:
                time, start = time + 1, 0.0
                critical[number] = critical[number] or _latest(node, body)
            far = self._far_words(node, time, ii)
            if far and far + delay > budget:
                time, start = time + 1, 0.0
                critical[number] = critical[number] or _latest(node, body)
            uses = self._uses.get(number)
            if uses:
                found = self._place(node, uses, time, ii, taken)
                if found is None:
                    return uses[0]
                self._waits[number] = found - time
                if found > time:
                    time, start = found, 0.0
            node.time = time
            self._started[number] = start
            latency = node.latency
            node.avail = time + latency
            node.settle = start + delay if latency == 0 else self.timing.exit(node)
        return None

    def _place_mapped(self, mapped: Mapped, node: Node, time: int) -> None:
        """Set the time of a node of a recurrence whose orders allow it from ``time`` on."""
        number = node.number
        for operand in node.operands:
            if operand.body is self.body and (ready := mapped.ready(operand)) > time:
                time = ready
                self._critical[number] = operand
        node.time, node.settle = mapped.place(node, time)
        if node.time > time:
            self._critical[number] = self._critical[number] or _latest(node, self.body)
        node.avail = node.time
        self._started[number] = 0.0

    def _behind_streams(self, node: Node, time: int) -> float:
        """When a stream operation can go that waits for others in its cycle, one after the other."""
        more = self.timing.device.order_ns
        if node.stream is None or not more:
            return 0.0
        before = [e.source for e in self._incoming.get(node.number, ()) if e.latency == 0]
        waits = [n for n in before if n.stream is not None and n.time == time]
        return max((self._started[n.number] + more for n in waits), default=0.0)

    def _far_words(self, node: Node, time: int, ii: int | None) -> float:
        """How late operands come to a multiplier block that are words which a FIFO gave a cycle before."""
        operator = node.operator
        if ii != 1 or operator is None or not operator.resources.dsp or operator.latency:
            return 0.0
        words = [word for word in map(_unextended, node.operands) if word.kind == "get"]
        far = any(word.body is self.body and word.avail == time - 1 for word in words)
        return self.timing.device.word_to_dsp_ns if far else 0.0

    def _place(
        self,
        node: Node,
        uses: list[Hashable],
        time: int,
        ii: int | None,
        taken: dict[tuple[Hashable, int], int],
    ) -> int | None:
        """The first cycle from ``time`` on with room for all uses, and take it."""
        limit = time + ii if ii is not None else time + 1_000_000
        if ii is not None and rotates(node):
            # An interval later other iterations are beside it.
            limit += (MEETINGS - 1) * ii
        while time < limit:
            slot = time % ii if ii is not None else time
            if self._has_room(node, uses, time, slot, taken):
                for u in uses:
                    if u in self._shared:
                        self._present[u, slot].add(node, time)
                        taken[u, slot] = len(self._present[u, slot])
                    else:
                        taken[u, slot] = taken.get((u, slot), 0) + 1
                return time
            time += 1
        return None

    def _has_room(
        self,
        node: Node,
        uses: list[Hashable],
        time: int,
        slot: int,
        taken: dict[tuple[Hashable, int], int],
    ) -> bool:
        """Whether all uses have room in a slot, or join accesses there that exclude the node."""
        for use in uses:
            most = self.capacity.get(use)
            if most is None or taken.get((use, slot), 0) < most:
                continue
            if use not in self._shared or not self._present[use, slot].has_room(node, time, most):
                return False
        return True

    # --- explanation -----------------------------------------------------------------

    def _recurrence(self, last: Edge | None) -> Recurrence | None:
        """The cycle of constraints behind a failure, walked back along what set each time."""
        if last is None:
            return None
        seen: dict[int, int] = {}
        walk: list[tuple[Node, Node | Edge | None]] = []
        node = last.target
        while node.number not in seen:
            seen[node.number] = len(walk)
            cause = self._critical.get(node.number)
            walk.append((node, cause))
            if cause is None:
                return Recurrence(0, 0, [last], [])
            node = cause.source if isinstance(cause, Edge) else cause
        loop = walk[seen[node.number] :]
        latency = distance = waits = 0
        edges: list[Edge] = []
        for target, cause in loop:
            if isinstance(cause, Edge) and cause.distance:
                latency += cause.latency
                distance += cause.distance
                edges.append(cause)
            elif cause is not None:
                source = cause.source if isinstance(cause, Edge) else cause
                waited = self._waits.get(target.number, 0)
                latency += target.time - source.time - waited
                waits += waited
        return Recurrence(latency, distance, edges, [n for n, _ in reversed(loop)], waits)


def _unextended(node: Node) -> Node:
    """The value whose bits a node's value is."""
    while node.kind == "wire" and len(node.operands) == 1:
        node = node.operands[0]
    return node


def _latest(node: Node, body: Body) -> Node | None:
    inside = [o for o in node.operands if o.body is body]
    return max(inside, key=lambda o: (o.avail, o.settle), default=None)


def resources_of(node: Node) -> list[Hashable]:
    """Ports and shared units a node takes for one slot."""
    access = node.access
    if access is not None and access.array.storage != "reg":
        number, writes = access.array.number, access.array.one_writes and node.kind == "store"
        kinds = ("port", "writes") if writes else ("port",)
        return [(kind, number, bank) for bank in access.banks() for kind in kinds]
    if node.stream is not None:
        # Whether a stream is empty or full is asked of no port.
        return [] if node.data in ASKS else [("stream", node.stream.number)]
    operator = node.operator
    if operator is not None and operator.shareable and operator.latency:
        return [("unit", operator.module)]
    return []
