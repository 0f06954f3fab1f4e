"""Units and ports for which the next region does not wait.

Binding numbers units in program order, and gives loads the first port. So an operation at the end of one
region may take the unit of one at the beginning of the next, which then waits for it. Here units go by time:
what starts first in its iteration takes the first units in every region, and what a draining region still
uses is what the next one uses last. A load that waits for its use, of a bank that another region reads by
both ports, takes the second one. Both are kept only where the function takes fewer cycles.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable

from ...graph.nodes import Body, Node
from ...graph.prune import bodies_of
from ...graph.regions import Function
from ..bind import Binding
from .overlap import overlap, starts
from .swaps import Swaps


def overlap_early(function: Function, binding: Binding, cycles: Callable[[], int | None]) -> None:
    """Set how long control stays in each body, and the waits, where units and ports are bound anew if that
    makes the function, whose ``cycles`` are asked, faster."""
    swaps = Swaps()
    overlap(function, cycles, swaps)
    first = cycles()
    bodies = list(bodies_of(function.root))
    if first is None or len(bodies) < 2:
        return
    nodes = [node for body in bodies for node in body.nodes]
    bound = [(node, node.unit, dict(_ports(node))) for node in nodes]
    put_back = starts(function)
    changed = False
    for body in bodies:
        changed = _by_time(body) | _by_second_port(body, binding) | changed
    if not changed:
        return
    overlap(function, cycles, swaps)
    if (cycles() or first) < first:
        return
    for node, unit, ports in bound:
        node.unit = unit
        _ports(node).update(ports)
    put_back()


def _ports(node: Node) -> dict[int, int]:
    return node.access.ports if node.access is not None else {}


def _by_time(body: Body) -> bool:
    """Number the units of a body anew; whether any differs."""
    slots: dict[tuple[str, int], list[Node]] = defaultdict(list)
    for node in body.nodes:
        operator = node.operator
        if operator is not None and operator.latency and operator.shareable:
            slot = node.time % body.ii if body.overlaps else node.time
            slots[operator.module, slot].append(node)
    changed = False
    for nodes in slots.values():
        units = sorted(node.unit for node in nodes)
        for node, unit in zip(sorted(nodes, key=lambda node: node.time), units, strict=True):
            changed = changed or node.unit != unit
            node.unit = unit
    return changed


def _by_second_port(body: Body, binding: Binding) -> bool:
    """Let late loads that are alone at a bank read by its second port; whether there are any."""
    users: dict[tuple[int, int], list[Node]] = defaultdict(list)
    for node in body.nodes:
        access = node.access
        if access is not None and access.array.storage != "reg":
            for bank in access.banks():
                users[access.array.number, bank].append(node)
    soonest = _soonest(node for nodes in users.values() for node in nodes)
    changed = False
    for (number, bank), nodes in users.items():
        access = nodes[0].access
        second = binding.ports[number].get((bank, 1))
        if access is None or len(nodes) > 1 or access.bank is None or nodes[0].kind != "load":
            continue
        if second is not None and second.reads and nodes[0].time >= soonest[number] + body.ii:
            changed = changed or access.ports[bank] != 1
            access.ports[bank] = 1
    return changed


def _soonest(nodes: Iterable[Node]) -> dict[int, int]:
    """The first cycle in which a body touches each array."""
    found: dict[int, int] = {}
    for node in nodes:
        assert node.access is not None
        number = node.access.array.number
        found[number] = min(node.time, found.get(number, node.time))
    return found
