"""Integer sums and differences of one width that take cycles share units: a bit says which is meant."""

from __future__ import annotations

from collections import defaultdict

from ..operators.library import OperatorLibrary
from .making import Maker
from .nodes import Body, Node
from .prune import bodies_of
from .regions import Function

_SIGNS = {"arith.addi": 0, "arith.subi": 1}


def share_adders(function: Function, library: OperatorLibrary) -> None:
    """Let units of a width do both where the function has both, and where they take no more cycles."""
    found: defaultdict[int, list[tuple[Body, Node]]] = defaultdict(list)
    for body in bodies_of(function.root):
        for node in body.nodes:
            if node.op in _SIGNS and node.latency:
                found[node.width].append((body, node))
    for width, users in found.items():
        if len({node.op for _, node in users}) < 2:
            continue
        kind = f"i{width}"
        both = library.find("arith.addi", (kind, kind, "i1"), kind)
        if both.latency > min(node.latency for _, node in users):
            continue
        for body, node in users:
            sign = Maker(function, body, library, node).const(_SIGNS[node.op], 1)
            node.operands, node.operator, node.op = (*node.operands, sign), both, ""
