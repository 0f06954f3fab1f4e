"""Modulo scheduling of one body.

Starting times are the least solution of a system of difference constraints (data flow with
chaining inside a cycle, memory orders with their iteration distances), raised where a port or a
unit is taken in that slot. An initiation interval fails when the constraints have no solution;
the constraint cycle that shows it becomes the explanation.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field

from ..graph.nodes import ASKS, Body, Edge, Node
from ..graph.prune import EFFECTS
from .mapped import Mapped
from .placing.carried import Carried
from .placing.forward import Forward
from .placing.room import Room, Sharing
from .share import without_twins
from .sink import Sinker
from .timing_model import TimingModel

type Times = list[tuple[int, int, float]]
"""Of each node of a body its start, the cycle of its value, and when that settles in it."""

MAX_ROUNDS, FEWEST_ROUNDS = 64, 8
ROUNDED_NODES = 40_000
"""Nodes that all rounds of one attempt place: in a larger body than most there are fewer rounds."""
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
        refused: whether a node waited for a unit in the last attempt.
    """

    body: Body
    timing: TimingModel
    capacity: dict[Hashable, int] = field(default_factory=dict)
    mapped: Mapped | None = None
    refused: bool = False
    _carried: Carried = field(init=False)
    _uses: dict[int, list[Hashable]] = field(default_factory=dict)
    _sharing: Sharing = field(init=False)
    _forward: Forward = field(init=False)

    def __post_init__(self) -> None:
        found = {node.number: resources_of(node) for node in self.body.nodes}
        self._uses = without_twins({number: uses for number, uses in found.items() if uses})
        self._sharing = Sharing(self.body.nodes, self._uses)
        self._forward = Forward(self.body, self.timing, self.mapped, self._uses)
        carried = [edge for edge in self.body.edges if edge.distance or edge.back]
        self._carried = Carried(carried, self._forward.positions)

    @property
    def uses(self) -> dict[int, list[Hashable]]:
        """The ports and units that nodes take for a slot, by node number."""
        return self._uses

    @property
    def is_plain(self) -> bool:
        """Whether no accesses share a port because they exclude each other."""
        return not self._sharing.uses

    @property
    def is_large(self) -> bool:
        """Whether an attempt has fewer rounds than in a small body, because each of them takes long."""
        return is_large(self.body)

    def demand(self) -> Counter[Hashable]:
        """How many slots each resource needs in one iteration."""
        counts: Counter[Hashable] = Counter()
        for uses in self._uses.values():
            counts.update(uses)
        return counts

    def attempt(self, ii: int | None) -> Attempt:
        """Set the times of all nodes for an initiation interval (None: no overlap)."""
        result = self._attempt(ii)
        self._forward.keep()
        if result.ok:
            Sinker(self.body, self.timing, self._uses, self.capacity, ii, self.mapped).run()
        return result

    def adopt(self, times: list[int], ii: int | None, capacity: Mapping[Hashable, int]) -> bool:
        """Set the times of all nodes to such that were found elsewhere, where a pass leaves them so.

        Returns:
            Whether each node can start when it is to, by the rules of :class:`.placing.forward.Forward`.
            Where not, the body stays as it is.
        """
        forward = self._forward
        if forward.run(times, Room(capacity, self._sharing, ii), ii) is not None:
            return False
        if forward.times != times:
            return False
        if ii is not None and self._carried.broken(forward.times, ii)[0] is not None:
            return False
        forward.keep()
        return True

    def _attempt(self, ii: int | None) -> Attempt:
        forward = self._forward
        floors = [0] * len(self.body.nodes)
        carried = self._carried if ii is not None else None
        self.refused, raised, growth, total = False, None, Growth(), 0
        for number_of_round in range(_rounds(self.body) if carried else 1):
            room = Room(self.capacity, self._sharing, ii)
            blocked = forward.run(floors, room, ii)
            self.refused = self.refused or room.refused
            if blocked is not None:
                return Attempt(False, resource=blocked)
            if ii is None or not carried:
                return Attempt(True)
            raised, asked = carried.broken(forward.times, ii)
            raised = raised or forward.unsettled(ii)
            if raised is None:
                return Attempt(True)
            for target, need, edge in asked:
                if need > floors[target]:
                    total += need - floors[target]
                    floors[target] = need
                    forward.causes[target] = edge
            growth.note(raised, total)
            if number_of_round >= PATIENCE:
                found = self._recurrence(raised)
                if found is not None and found.exceeds(ii, waiting=growth.rounds >= STEADY):
                    return Attempt(False, recurrence=found)
        return Attempt(False, recurrence=self._recurrence(raised))

    def _recurrence(self, last: Edge | None) -> Recurrence | None:
        """The cycle of constraints behind a failure, walked back along what set each time."""
        if last is None:
            return None
        forward, nodes = self._forward, self.body.nodes
        seen: dict[int, int] = {}
        walk: list[tuple[int, Edge | int]] = []
        place = forward.positions[last.target.number]
        while place not in seen:
            seen[place] = len(walk)
            cause = forward.causes[place]
            if cause is None:
                return Recurrence(0, 0, [last], [])
            walk.append((place, cause))
            place = forward.before(cause)
        loop = walk[seen[place] :]
        latency = distance = waits = 0
        edges: list[Edge] = []
        for position, (target, cause) in enumerate(loop):
            if isinstance(cause, Edge) and cause.distance:
                latency += cause.latency
                distance += cause.distance
                edges.append(cause)
                continue
            source = loop[(position + 1) % len(loop)][0]
            waited = forward.waits[target]
            latency += forward.times[target] - forward.times[source] - waited
            waits += waited
        # Streams that wait for each other within an iteration may close a cycle of no iterations.
        path = [nodes[k] for k, _ in reversed(loop)]
        return Recurrence(latency, distance, edges or [last], path, waits)


def is_large(body: Body) -> bool:
    """Whether an attempt has fewer rounds than in a small body, because each of them takes long."""
    return _rounds(body) < MAX_ROUNDS


def _rounds(body: Body) -> int:
    return max(FEWEST_ROUNDS, min(MAX_ROUNDS, ROUNDED_NODES // max(1, len(body.nodes))))


def depth_of(body: Body) -> int:
    """Cycles until all that an iteration does has begun, and what others read is there."""
    depth = 1
    for node in body.nodes:
        if node.kind in EFFECTS:
            depth = max(depth, node.time + 1)
        if node.crosses:
            depth = max(depth, node.avail + 1)
    return depth


def times_of(body: Body) -> Times:
    """The times of all nodes of a body."""
    return [(node.time, node.avail, node.settle) for node in body.nodes]


def restore(body: Body, times: Times) -> None:
    """Give all nodes of a body the times that they had."""
    for node, found in zip(body.nodes, times, strict=True):
        node.time, node.avail, node.settle = found


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
