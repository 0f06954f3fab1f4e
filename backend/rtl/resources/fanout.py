"""How many registers and lookup tables read a signal: wires with many readers are longer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from .nodes import Node, Value


def registers_behind(nodes: Sequence[Node]) -> Counter[Value]:
    """Bits of registers that each enable or reset goes to."""
    found: Counter[Value] = Counter()
    for node in nodes:
        if node.kind == "register" and node.made:
            for control in node.operands[1:]:
                found[control] += node.made.bit_count()
    return found


def tables_behind(nodes: Sequence[Node]) -> Counter[tuple[int, int]]:
    """Lookup tables that read each (node, bit), as the leaves of logic name them."""
    found: Counter[tuple[int, int]] = Counter()
    for node in nodes:
        if node.kind == "logic":
            for leaf in node.leaves:
                found[leaf] += node.made.bit_count()
    return found
