"""Orders between the stream operations of a body."""

from __future__ import annotations

from collections import defaultdict

from ...graph.nodes import ASKS, Body, Edge, Node
from ..share import joining_edges


def stream_edges(body: Body, overlaps: bool) -> list[Edge]:
    """Orders of stream operations.

    Iterations that overlap keep the order of each stream; a sequential body keeps the program's
    order of all, so that it blocks where the program would.
    """
    edges: list[Edge] = []
    last: dict[int, Node] = {}
    first: dict[int, Node] = {}
    earlier: dict[int, list[Node]] = defaultdict(list)
    before: Node | None = None
    for node in body.nodes:
        if node.stream is None:
            continue
        number = node.stream.number
        if number in last:
            edges += _follows(node, earlier[number])
        elif before is not None and not overlaps:
            edges.append(Edge(before, node, 0, 0))
        if before is not None and not overlaps and number in last:
            edges.append(Edge(before, node, 0, 0))
        first.setdefault(number, node)
        last[number] = before = node
        earlier[number].append(node)
    if overlaps:
        edges += joining_edges(body)
        edges += [
            Edge(last[n], node, _behind(last[n]), 1)
            for n, node in first.items()
            if last[n] is not node
        ]
    return edges


def _follows(node: Node, earlier: list[Node]) -> list[Edge]:
    """The order of an operation behind those of its stream.

    It may be in the cycle of those of its party. Behind any other it is a cycle later, and so behind all that
    this one is behind.
    """
    edges: list[Edge] = []
    for other in reversed(earlier):
        shares = node.party >= 0 and node.party == other.party
        edges.append(Edge(other, node, 0 if shares else _behind(other), 0))
        if not shares:
            break
    return edges


def _behind(node: Node) -> int:
    """Cycles until the next operation of the stream; one that only asks passes no word."""
    return 0 if node.data in ASKS else 1
