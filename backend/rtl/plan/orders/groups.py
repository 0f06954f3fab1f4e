"""Accesses of an array that have orders among them, apart from those that touch other banks."""

from __future__ import annotations

from collections import defaultdict

from ...graph.nodes import Node


def groups(nodes: list[Node]) -> list[list[Node]]:
    """Accesses that may share a bank, directly or through others, together."""
    touched = [node.access.banks() if node.access is not None else () for node in nodes]
    if any(len(banks) > 1 and len(banks) == _bank_count(nodes[0]) for banks in touched):
        return [nodes]
    leader: dict[int, int] = {}

    def find(bank: int) -> int:
        while leader.setdefault(bank, bank) != bank:
            leader[bank] = bank = leader[leader[bank]]
        return bank

    for first, *others in touched:
        for bank in others:
            leader[find(bank)] = find(first)
    found: dict[int, list[Node]] = defaultdict(list)
    for node, banks in zip(nodes, touched, strict=True):
        found[find(banks[0])].append(node)
    return list(found.values())


def _bank_count(node: Node) -> int:
    return node.access.array.banks if node.access is not None else 0
