"""The stream operations of one run of a body as numbers, which the engine of regions reads.

A *variant* of a body is what one of its iterations does, given which of its conditions hold. Numbers of
channels are those of its process. The layouts are those of ``backend/runtime/regions.cpp``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..emit.channels import MANY_WORDS, steps_of
from ..graph.nodes import Body, Node
from ..graph.prune import bodies_of
from ..graph.regions import Function
from ..plan.stream_order import direct_of, front_of, operations_of, words_of

STEPS, PIPE, ASKS = 0, 1, 2
GET, PUT, ADVANCE, ASK, LATE, TRY_GET, TRY_PUT, SEE = range(8)
TAKE, GIVE, PROMISED = range(3)


Place = tuple[int, int, int]
"""A port of a memory as a function knows it: position of the array parameter, bank, port."""


@dataclass(frozen=True, slots=True)
class Request:
    """A body asks for a port in a step.

    ``condition``: its number among the conditions of requests, -1 where it always does.
    """

    time: int
    place: Place
    condition: int


@dataclass(frozen=True, slots=True)
class Part:
    """Stream operations of a body, by their places in the order in which they happen.

    ``last``: whether the body ends behind them.
    """

    first: int
    end: int
    last: bool


@dataclass(frozen=True, slots=True, eq=False)
class Shape:
    """A body with streams, once for all of its variants.

    Attributes:
        conditions: its stream operations that have a condition, in program order.
        late: steps that go on by a register (:func:`..emit.channels.passes_by_register`).
        requests: ports that it asks for, of those that others may ask for in the same cycle. Their conditions
            are numbered behind those of stream operations.
    """

    body: Body
    conditions: tuple[Node, ...]
    late: frozenset[int]
    requests: tuple[Request, ...] = ()


def shape_of(
    function: Function,
    body: Body,
    buffers: Mapping[int, int],
    frozen: bool,
    requests: Sequence[Request] = (),
) -> Shape:
    """The shape of a body; ``buffers``: words of the elastic buffer of each stream."""
    operations = [node for node in body.nodes if node.stream is not None]
    conditions = tuple(node for node in operations if node.predicate is not None)
    return Shape(body, conditions, _late_steps(function, body, buffers, frozen), tuple(requests))


def _late_steps(
    function: Function, body: Body, buffers: Mapping[int, int], frozen: bool
) -> frozenset[int]:
    waiting = [
        b
        for b in bodies_of(function.root)
        if not b.overlaps and any(n.stream is not None for n in b.nodes)
    ]
    if waiting != [body] or body.runs_on or frozen or body.depth < 2:
        return frozenset()
    users = Counter(
        node.stream.number
        for other in bodies_of(function.root)
        for node in other.nodes
        if node.stream is not None
    )

    def alone(node: Node) -> bool:
        assert node.stream is not None
        number = node.stream.number
        plain = node.kind == "get" and not node.tries and node.predicate is None
        return plain and users[number] == 1 and not buffers.get(number)

    return frozenset(
        time
        for time, nodes in steps_of(body).items()
        if len(nodes) > MANY_WORDS and all(map(alone, nodes))
    )


def steps_code(
    shape: Shape, holds: int, channels: Sequence[int], clients: Mapping[Place, int]
) -> list[int]:
    """A run of a body whose iterations do not overlap; ``holds``: the conditions that hold, as bits.

    ``clients``: numbers of the ports that others may ask for, too.
    """
    left_out, steps = _left_out(shape, holds), steps_of(shape.body)
    asked = requests_of(shape, holds, clients)
    rows: list[tuple[int, int]] = []
    at = 0
    for time in sorted({*steps, *asked}):
        if time > at:
            rows.append((ADVANCE, time - at))
            at = time
        for node in steps.get(time, []):
            if node.number not in left_out and node.stream is not None:
                rows.append((step_of(node), channels[node.stream.number]))
        if time in shape.late:
            rows.append((LATE, 0))
        rows += [(ASK, client) for client in asked.get(time, ())]
    rows.append((ADVANCE, shape.body.depth - at))
    return [STEPS, len(rows), *(number for row in rows for number in row)]


def step_of(node: Node) -> int:
    """What a stream operation does in its step."""
    match node.data:
        case None:
            return GET if node.kind == "get" else PUT
        case "try_get":
            return TRY_GET
        case "try_put":
            return TRY_PUT
    return SEE


def ordered(body: Body) -> list[Node]:
    """The stream operations of a body in the order in which they happen."""
    return [node for _, nodes in sorted(steps_of(body).items()) for node in nodes]


def part_code(shape: Shape, part: Part, holds: int, channels: Sequence[int]) -> list[int]:
    """A run of a part of such a body: from behind the operations before it to its last one."""
    left_out, operations = _left_out(shape, holds), ordered(shape.body)
    at = operations[part.first - 1].time if part.first else 0
    rows: list[tuple[int, int]] = []
    for position, node in enumerate(operations[part.first : part.end], part.first):
        assert node.stream is not None
        if node.time > at:
            rows.append((ADVANCE, node.time - at))
            at = node.time
        if node.number not in left_out:
            rows.append((step_of(node), channels[node.stream.number]))
        following = operations[position + 1].time if position + 1 < len(operations) else -1
        if at in shape.late and following != at:
            rows.append((LATE, 0))
    if part.last:
        rows.append((ADVANCE, shape.body.depth - at))
    return [STEPS, len(rows), *(number for row in rows for number in row)]


def requests_of(shape: Shape, holds: int, clients: Mapping[Place, int]) -> dict[int, list[int]]:
    """The ports that a run asks for in each step."""
    found: dict[int, set[int]] = {}
    for request in shape.requests:
        bit = len(shape.conditions) + request.condition
        if request.place in clients and (request.condition < 0 or holds >> bit & 1):
            found.setdefault(request.time, set()).add(clients[request.place])
    return {time: sorted(numbers) for time, numbers in found.items()}


def _left_out(shape: Shape, holds: int) -> set[int]:
    """Numbers of the operations whose conditions do not hold."""
    return {node.number for n, node in enumerate(shape.conditions) if not holds >> n & 1}


def pipe_code(
    shape: Shape, holds: int, channels: Sequence[int], clients: Mapping[Place, int]
) -> list[int]:
    """An iteration of a body whose iterations overlap, which waits in front of the pipeline."""
    body, left_out = shape.body, _left_out(shape, holds)
    direct, operations = direct_of(body), operations_of(body)
    front: list[int] = []
    chain = front_of(body)
    for position, node in enumerate(chain):
        assert node.stream is not None
        number = node.stream.number
        if node.number not in direct:
            front += [PROMISED, channels[number], words_of(operations[number]), 0]
        elif node.number not in left_out:
            kind = TAKE if node.kind == "get" else GIVE
            front += [kind, channels[number], 1, int(position == len(chain) - 1)]
    places: list[int] = []
    gets: list[tuple[int, int]] = []
    puts: list[tuple[int, int]] = []
    skipped: list[tuple[int, int]] = []
    for number, nodes in operations.items():
        if nodes[0].number in direct:
            continue
        channel = channels[number]
        if nodes[0].kind == "get":
            gets += [(node.time, channel) for node in nodes]
            continue
        places += [channel, words_of(nodes)]
        puts += [(node.time, channel) for node in nodes if node.number not in left_out]
        skipped += [(time, channel) for time in _skipped(nodes, left_out)]
    timed: list[int] = []
    asked = requests_of(shape, holds, clients)
    asks = [(time, client) for time, numbers in asked.items() for client in numbers]
    for rows in (gets, puts, skipped, asks):
        rows.sort(key=lambda row: row[0])
        timed += [len(rows), *(n for time, channel in rows for n in (channel, time))]
    head = [PIPE, body.ii, body.depth, len(front) // 4, *front]
    return [*head, len(places) // 2, *places, *timed]


def _skipped(nodes: Sequence[Node], left_out: set[int]) -> list[int]:
    """Cycles of an iteration in which it gives back a place that it does not use."""
    parties: dict[int, list[Node]] = {}
    for node in nodes:
        parties.setdefault(node.party if node.party >= 0 else ~node.number, []).append(node)
    return [
        party[-1].time
        for party in parties.values()
        if all(node.predicate is not None and node.number in left_out for node in party)
    ]
