"""One pass over a body in program order: each node starts as early as all before it allow.

The pass is repeated for each initiation interval until no order between iterations is broken. Therefore what
does not change from pass to pass is written down once, by the positions of nodes in the body.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

from ...graph.nodes import Body, Edge, Node
from ..mapped import Mapped
from ..timing_model import TimingModel
from .room import Room

NEVER = float("inf")
type Cause = Edge | int | None
"""What set a starting time: an order, the operand at a position, or nothing."""


class _Passed(NamedTuple):
    """A store whose value a load may take on its way: its position, and those of its operands.

    Attributes:
        others: of those operands that say where and whether it stores, if they are asked a cycle sooner.
    """

    edge: Edge
    store: int
    operands: tuple[int, ...]
    others: tuple[int, ...] = ()


class _Row(NamedTuple):
    """What is known of a node.

    Attributes:
        orders: of each order within the iteration its source's position, its latency, and itself.
        operands: positions.
        delay: of logic from the operands to the result or the first register; ``after`` from the last one.
        words: positions of operands that are words of streams and come late to a multiplier block.
        rare: whether it is timed as mapped, or stands behind other operations of a stream.
        passed: of a load of a register, the stores whose values it may take on their way.
        prompt: of a load of a memory, those whose values it may take when its word is there.
    """

    orders: list[tuple[int, int, Edge]]
    operands: tuple[int, ...]
    delay: float
    latency: int
    after: float
    uses: list[Hashable] | None
    words: tuple[int, ...]
    rare: bool
    passed: list[_Passed]
    prompt: list[_Passed]


class Forward:
    """The starting times of the nodes of one body.

    Args:
        uses: the ports and units that nodes take for a slot, by node number.

    Attributes:
        times: the cycle in which each node starts, by position.
        causes: what set it.
        waits: cycles that it waited for ports and units.
    """

    def __init__(
        self,
        body: Body,
        timing: TimingModel,
        mapped: Mapped | None,
        uses: Mapping[int, list[Hashable]],
    ) -> None:
        self._body, self._timing, self._mapped = body, timing, mapped
        self.positions = {node.number: k for k, node in enumerate(body.nodes)}
        self._rows = self._described(uses)
        self._far_ns = timing.device.word_to_dsp_ns
        count = len(body.nodes)
        self.times, self._ready, self._settled = [0] * count, [0] * count, [0.0] * count
        self._started = [0.0] * count
        self.waits = [0] * count
        self.causes: list[Cause] = [None] * count

    def _described(self, uses: Mapping[int, list[Hashable]]) -> list[_Row]:
        body, positions, timing = self._body, self.positions, self._timing
        orders: dict[int, list[tuple[int, int, Edge]]] = defaultdict(list)
        passed: dict[int, list[_Passed]] = defaultdict(list)
        prompt: dict[int, list[_Passed]] = defaultdict(list)
        for edge in body.edges:
            if not (edge.distance or edge.back):
                before = positions[edge.source.number], edge.latency, edge
                orders[edge.target.number].append(before)
            if edge.passes_register:
                passed[edge.target.number].append(self._passed(edge))
            elif edge.passes_word:
                prompt[edge.target.number].append(self._prompt(edge))
        rows = []
        for node in body.nodes:
            words = self._far_words(node)
            is_mapped = self._mapped is not None and self._mapped.has(node)
            latency = node.latency
            row = _Row(
                orders[node.number],
                tuple(positions[o.number] for o in node.operands if o.body is body),
                0.0 if is_mapped else timing.entry(node),
                latency,
                timing.exit(node) if latency else 0.0,
                uses.get(node.number) or None,
                words,
                is_mapped or node.stream is not None,
                passed[node.number],
                prompt[node.number],
            )
            rows.append(row)
        return rows

    def _passed(self, edge: Edge) -> _Passed:
        source, positions = edge.source, self.positions
        operands = [positions[o.number] for o in source.operands if o.body is self._body]
        return _Passed(edge, positions[source.number], tuple(operands))

    def _prompt(self, edge: Edge) -> _Passed:
        source, positions = edge.source, self.positions
        data, *others = (
            [positions[o.number]] if o.body is self._body else [] for o in source.operands
        )
        return _Passed(edge, positions[source.number], tuple(data), tuple(chain(*others)))

    def run(self, floors: Sequence[int], room: Room, ii: int | None) -> Hashable | None:
        """Set the earliest times that are not below the floors; the resource that never has room, if one."""
        nodes, budget, keeps = self._body.nodes, self._timing.budget, self._mapped is not None
        times, ready, settled, causes = self.times, self._ready, self._settled, self.causes
        started, waits, place = self._started, self.waits, room.place
        for k, row in enumerate(self._rows):
            orders, operands, delay, latency, after, uses, words, rare, passed, prompt = row
            time = floors[k]
            cause = causes[k] if time else None
            if cause.__class__ is not Edge:
                cause = None
            for source, cycles, edge in orders:
                asked = times[source] + cycles
                if asked > time:
                    time, cause = asked, edge
            if rare and keeps and self._is_mapped(nodes[k]):
                self._place_mapped(k, time, cause)
                continue
            start = 0.0
            last: Cause = cause  # what settles last in the cycle, and so moves the node on
            for operand in operands:
                there = ready[operand]
                if there > time:
                    time, start, cause, last = there, settled[operand], operand, operand
                elif there == time and settled[operand] > start:
                    start, last = settled[operand], operand
            if passed:
                time, start = self._pass(k, time, start, ii)
                delay = 0.0
            if rare and (behind := self._behind_streams(k, time)) > start:
                start, last = behind, cause
            if start > 0.0 and start + delay > budget:
                time, start = time + 1, 0.0
                cause = self._latest(row) if last is None else last
            if words and ii == 1 and self._is_far(words, time) and self._far_ns + delay > budget:
                time, start = time + 1, 0.0
                cause = self._latest(row) if cause is None else cause
            if prompt:
                time = self._in_time(k, time, ii)
            if uses is not None:
                found = place(nodes[k], uses, time)
                if found is None:
                    causes[k] = cause
                    return uses[0]
                waits[k] = found - time
                if found > time:
                    time, start = found, 0.0
            times[k], causes[k] = time, cause
            started[k] = start
            ready[k] = time + latency
            settled[k] = after if latency else start + delay
            if prompt:
                settled[k] = max(after, self._at_once(k, time, ii))
            if keeps:
                self._keep(k)
        return None

    def unsettled(self, ii: int) -> Edge | None:
        """The order of a load that was timed with a value on its way which has become later since."""
        for k, row in enumerate(self._rows):
            if row.passed:
                late = self._on_its_way(k, self.times[k], ii)
                if late > self._settled[k]:
                    return row.passed[0].edge
            if row.prompt:
                late = self._at_once(k, self.times[k], ii)
                if late > min(self._settled[k], self._timing.budget):
                    return row.prompt[0].edge
        return None

    def _pass(self, k: int, time: int, start: float, ii: int | None) -> tuple[int, float]:
        """The cycle of a load that may take values on their way to its register, and when it settles.

        It waits for the register where such a value comes too late.
        """
        chosen = self._rows[k].delay - self._timing.device.glue_ns
        late = self._on_its_way(k, time, ii)
        if late > self._timing.budget:
            return time + 1, chosen
        return time, max(start + chosen, late)

    def _on_its_way(self, k: int, time: int, ii: int | None) -> float:
        """When the value of a load is there that takes it from stores of its cycle; 0 without one."""
        times, found, late = self.times, [], 0.0
        for passed in self._rows[k].passed:
            stored = times[passed.store]
            if stored - passed.edge.distance * (ii or 0) == time:
                found.append(passed.edge.source)
                late = max(
                    [late, *(self._settled[o] for o in passed.operands if self._ready[o] == stored)]
                )
        node = self._body.nodes[k]
        if self._mapped is not None:
            return self._mapped.passed(node, found)
        return late + self._rows[k].delay if found else 0.0

    def _in_time(self, k: int, time: int, ii: int | None) -> int:
        """The cycle of a load, from ``time`` on, in which no value of a store comes too late to be taken."""
        for later in range(time, time + len(self._rows[k].prompt) + 1):
            if self._at_once(k, later, ii) <= self._timing.budget:
                return later
        return time + len(self._rows[k].prompt) + 1

    def _at_once(self, k: int, time: int, ii: int | None) -> float:
        """When the word of a load is there that stores of that cycle write; 0 without one.

        It never is where a store is not known to be of the load's element a cycle sooner.
        """
        row, glue = self._rows[k], self._timing.device.glue_ns
        late, there = 0.0, time + row.latency
        met = [p for p in row.prompt if self.times[p.store] - p.edge.distance * (ii or 0) == there]
        for passed in met:
            stored = self.times[passed.store]
            found = max(
                ((self._ready[o], self._settled[o]) for o in passed.others), default=(0, 0.0)
            )
            if found > (stored - 1, self._timing.budget - 2 * glue):
                return NEVER
            late = max(
                [late, *(self._settled[o] for o in passed.operands if self._ready[o] == stored)]
            )
        return late + glue * (1 if ii is None or ii > 2 else 2) * len(met)

    def before(self, cause: Edge | int) -> int:
        """The position of the node from which a cause comes."""
        return self.positions[cause.source.number] if isinstance(cause, Edge) else cause

    def keep(self) -> None:
        """Write what was found last into the nodes."""
        for k in range(len(self.times)):
            self._keep(k)

    def _keep(self, k: int) -> None:
        node = self._body.nodes[k]
        node.time, node.avail, node.settle = self.times[k], self._ready[k], self._settled[k]

    def _is_mapped(self, node: Node) -> bool:
        return self._mapped is not None and self._mapped.has(node)

    def _place_mapped(self, k: int, time: int, cause: Cause) -> None:
        """Set the time of a node of a recurrence whose orders allow it from ``time`` on."""
        mapped, node, body = self._mapped, self._body.nodes[k], self._body
        assert mapped is not None
        for operand in node.operands:
            if operand.body is body and (ready := mapped.ready(operand)) > time:
                time, cause = ready, self.positions[operand.number]
        start, settle = mapped.place(node, time)
        if start > time:
            late = self._latest(self._rows[k])
            cause = cause if late is None else late
        self.times[k] = self._ready[k] = start
        self._settled[k], self._started[k], self.causes[k] = settle, 0.0, cause
        self._keep(k)

    def _behind_streams(self, k: int, time: int) -> float:
        """When a stream operation can go that waits for others in its cycle, one after the other."""
        more, nodes = self._timing.device.order_ns, self._body.nodes
        if nodes[k].stream is None or not more:
            return 0.0
        return max(
            (
                self._started[source] + more
                for source, latency, _ in self._rows[k].orders
                if not latency and nodes[source].stream is not None and self.times[source] == time
            ),
            default=0.0,
        )

    def _far_words(self, node: Node) -> tuple[int, ...]:
        """Operands of a multiplier block that are words, which a FIFO may have given a cycle before."""
        operator = node.operator
        if operator is None or not operator.resources.dsp or operator.latency:
            return ()
        words = [word for word in map(_unextended, node.operands) if word.kind == "get"]
        return tuple(self.positions[word.number] for word in words if word.body is self._body)

    def _is_far(self, words: Sequence[int], time: int) -> bool:
        """Whether a FIFO gave one of some words in the cycle before, and giving takes time."""
        return bool(self._far_ns) and any(self._ready[word] == time - 1 for word in words)

    def _latest(self, row: _Row) -> int | None:
        """The operand that is there last."""
        return max(row.operands, key=lambda o: (self._ready[o], self._settled[o]), default=None)


def _unextended(node: Node) -> Node:
    """The value whose bits a node's value is."""
    while node.kind == "wire" and len(node.operands) == 1:
        node = node.operands[0]
    return node
