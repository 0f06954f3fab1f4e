"""Gates that several lookup tables take in, so that none of its own is left."""

from __future__ import annotations

from collections.abc import Callable

from .nodes import Node, Run

Leaves = dict[tuple[int, int], None]
"""What a lookup table reads: (node, bit) as runs name them."""


def dissolve(
    nodes: list[Node], outside: set[int], most: int, merged: Callable[[Leaves, Run], Leaves]
) -> None:
    """Take each gate into all that read it, where every one of these has inputs left.

    Args:
        outside: nodes that others than lookup tables read; they stay.
        most: inputs of a lookup table.
        merged: the leaves of a table with those of a node that it reads in place of the node.
    """
    readers: dict[int, dict[int, None]] = {}
    for number, node in enumerate(nodes):
        if node.kind == "logic" and node.made:
            for leaf, _ in node.leaves:
                readers.setdefault(leaf, {})[number] = None
    for number, node in enumerate(nodes):
        if node.kind != "logic" or not node.made or node.extra:
            continue
        reading = [nodes[reader] for reader in readers.get(number, ())]
        if number in outside or any(reader.extra for reader in reading):
            continue
        found = [_without(reader.leaves, number, merged) for reader in reading]
        if any(len(leaves) > most for leaves in found):
            continue
        for reader, leaves in zip(readers.get(number, ()), found, strict=True):
            nodes[reader].leaves = leaves
            for leaf, _ in leaves:
                readers.setdefault(leaf, {})[reader] = None
        node.made = 0


def _without(leaves: Leaves, number: int, merged: Callable[[Leaves, Run], Leaves]) -> Leaves:
    for leaf, bit in list(leaves):
        if leaf == number:
            leaves = merged(leaves, (leaf, bit, 1))
    return leaves
