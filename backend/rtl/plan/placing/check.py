"""A schedule holds what its body asks for: one that does not would give wrong values, and no word of it."""

from __future__ import annotations

from collections import defaultdict

from allo.dialects.diagnostics import InternalError

from ...graph.nodes import Body, Edge, Node
from ...graph.prune import bodies_of
from ...graph.regions import Function
from ..share import PORTS_PER_BANK, parties


def check_plan(function: Function) -> None:
    """Look at all operands, orders and ports of a scheduled and bound function.

    Raises:
        InternalError: a node starts before what it reads or follows, or two accesses meet at a port.
    """
    for body in bodies_of(function.root):
        _check_operands(body)
        _check_orders(body)
        _check_ports(body)


def _check_operands(body: Body) -> None:
    for node in body.nodes:
        for operand in node.operands:
            if operand.body is body and operand.time + operand.latency > node.time:
                raise _fault(node, operand, "starts before its operand is there")


def _check_orders(body: Body) -> None:
    for edge in body.edges:
        if not body.overlaps and (edge.distance or edge.back):
            continue
        if _slack(edge, body.ii) < 0:
            raise _fault(edge.target, edge.source, "starts before what it follows")


def _slack(edge: Edge, ii: int) -> int:
    return edge.target.time + edge.distance * ii - edge.source.time - edge.latency


def _check_ports(body: Body) -> None:
    ii = body.ii if body.overlaps else 0
    slots: dict[tuple[int, int, int], list[Node]] = defaultdict(list)
    for node in body.nodes:
        if node.access is not None and node.access.array.storage != "reg":
            slot = node.time % ii if ii else node.time
            for bank in node.access.banks():
                slots[node.access.array.number, bank, slot].append(node)
    for (_, bank, _), nodes in slots.items():
        users: dict[int, Node] = {}
        groups = parties(((node, node.time) for node in nodes), ii) if len(nodes) > 1 else [nodes]
        for group in groups:
            port, *others = {_port(node, bank) for node in group}
            if others or port >= PORTS_PER_BANK or port in users:
                raise _fault(group[0], users.get(port, group[-1]), "finds no port of its own")
            users[port] = group[0]


def _port(node: Node, bank: int) -> int:
    assert node.access is not None
    return node.access.ports[bank]


def _fault(node: Node, other: Node, what: str) -> InternalError:
    return InternalError(
        f"The schedule of {node.kind} {node.op or node.label} {what} ({other.kind} "
        f"{other.op or other.label}).",
        node.place,
        help="this is a fault of Allo; please report it with the lines above.",
    )
