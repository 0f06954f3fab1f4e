"""How many accesses the ports of a body's memories and streams take, and the interval that they allow.

So do units that work on one pair of operands for several cycles.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator
from contextlib import contextmanager

from ..graph.nodes import Body, Node
from .modulo import resources_of
from .placing.room import is_unit
from .share import PORTS_PER_BANK, gate_loads, join_streams, parties, shared_uses, without_twins

_CAPACITY = {"port": PORTS_PER_BANK, "writes": 1, "stream": 1}


def ports_of(body: Body) -> dict[Hashable, int]:
    """Capacities of memory ports and streams."""
    return {
        use: _capacity(use) for node in body.nodes for use in resources_of(node) if not is_unit(use)
    }


def port_bound(body: Body) -> tuple[int, Hashable | None, int]:
    """Least interval the ports and units allow, the port or unit that says so, and its uses."""
    users: dict[Hashable, list[Node]] = defaultdict(list)
    uses = without_twins({node.number: resources_of(node) for node in body.nodes})
    for node in body.nodes:
        for use in uses[node.number]:
            if not is_unit(use):
                users[use].append(node)
    shared = shared_uses(body.nodes, uses)
    counts = {
        use: len(parties((node, 0) for node in nodes)) if use in shared else len(nodes)
        for use, nodes in users.items()
    }
    bounds = {use: -(-count // _capacity(use)) for use, count in counts.items()}
    for node in body.nodes:
        if node.operator is not None and node.operator.initiation_interval > 1:
            use = "cycles", node.number
            bounds[use] = counts[use] = node.operator.initiation_interval
    if not bounds:
        return 1, None, 0
    worst = max(bounds, key=lambda use: bounds[use])
    return bounds[worst], worst, counts[worst]


def _capacity(use: Hashable) -> int:
    """Uses a cycle of the port or stream that ``use`` names."""
    return _CAPACITY[use[0]] if isinstance(use, tuple) else 1


def gates_help(body: Body, ii: int) -> bool:
    """Whether the ports allow a shorter interval where loads share them that exclude each other."""
    with _as_it_is(body):
        return gate_loads(body, True) and port_bound(body)[0] < ii


def joining_helps(body: Body, ii: int) -> bool:
    """Whether ports allow a shorter interval where stream operations that exclude each other share them."""
    with _as_it_is(body):
        gate_loads(body, True)
        return join_streams(body, True) and port_bound(body)[0] < ii


def ungated_bound(body: Body) -> int:
    """Least interval the ports and units allow where no load waits for its condition."""
    with _as_it_is(body):
        gate_loads(body, False)
        return port_bound(body)[0]


@contextmanager
def _as_it_is(body: Body) -> Iterator[None]:
    """Leave a body with the gates and the parties that it has, for its nodes may have the times of these."""
    gated = any(node.access is not None and node.access.gated for node in body.nodes)
    joined = any(node.party >= 0 for node in body.nodes)
    try:
        yield
    finally:
        gate_loads(body, gated)
        join_streams(body, joined)
