"""Accesses that exclude each other share a port: of one iteration, so that at most one of them happens.

Conditions of different iterations say nothing of each other. Therefore only accesses that start in the same
cycle of their iteration can share; those of one slot of the interval in different cycles cannot. A load
shares where it is *gated*: it then waits for its condition, while any other load reads ahead of it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping

from ..graph.conditions import exclude
from ..graph.nodes import ALWAYS, Access, Body, Node

type User = tuple[Node, int]
"""A node and the cycle of its iteration in which it starts."""


def parties(users: Iterable[User]) -> list[list[Node]]:
    """The accesses of one slot in groups that may share a port; the same ones give the same groups."""
    found: list[tuple[int, list[Node]]] = []
    for node, time in sorted(users, key=lambda user: user[0].number):
        for start, members in found:
            if start == time and all(_may_share(node, member) for member in members):
                members.append(node)
                break
        else:
            found.append((time, [node]))
    return [members for _, members in found]


def _may_share(a: Node, b: Node) -> bool:
    if not (_is_conditional(a) and _is_conditional(b)):
        return False
    return a.access is not None and b.access is not None and exclude(a.access.cases, b.access.cases)


def _is_conditional(node: Node) -> bool:
    access = node.access
    return access is not None and access.cases != ALWAYS and (node.kind == "store" or access.gated)


def shared_uses(nodes: Iterable[Node], uses: Mapping[int, list[Hashable]]) -> frozenset[Hashable]:
    """Ports with several conditional accesses, of which some may share a slot."""
    counts: dict[Hashable, int] = defaultdict(int)
    for node in nodes:
        if _is_conditional(node):
            for use in uses.get(node.number, ()):
                counts[use] += 1
    return frozenset(use for use, count in counts.items() if count > 1)


def gate_loads(body: Body, gated: bool) -> bool:
    """Let loads that exclude another access of their array wait for their conditions, or none of them.

    Returns:
        Whether there are any.
    """
    by_array: dict[int, list[Access]] = defaultdict(list)
    loads = [n for n in body.nodes if n.kind == "load" and n.access is not None]
    for node in body.nodes:
        access = node.access
        if access is not None and access.cases != ALWAYS and node.kind in ("load", "store"):
            by_array[access.array.number].append(access)
    found = False
    for node in loads:
        access = node.access
        assert access is not None
        if access.gate is None:
            continue
        others = by_array[access.array.number]
        access.gated = gated and any(exclude(access.cases, other.cases) for other in others)
        parts = (access.word_node, access.bank_node, access.gate if access.gated else None)
        node.operands = tuple(n for n in parts if n is not None)
        found = found or access.gated
    return found
