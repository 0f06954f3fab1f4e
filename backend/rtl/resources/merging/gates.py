"""How deep the tables of gates are that synthesis makes anew, on the families whose record says so."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import ceil, log
from typing import Protocol

from ..nodes import Node

FLATTER = ((11, 0.02), (5, 0.25), (4, 0.6), (3, 0.85))
"""Behind so many levels of logic, synthesis makes a chain flatter: the part that one more costs."""


class _Gate(Protocol):
    terms: int


def one_gate(
    nodes: Sequence[Node], node: Node, arrivals: Iterable[tuple[int, _Gate]]
) -> dict[int, int]:
    """The terms of a gate of many inputs that its sources are part of; empty where it is none.

    Synthesis makes a tree of tables of gates of one kind behind one another, as flat as it can be, and
    makes those twice that others read too.
    """
    if not _is_gate(node):
        return {}
    found = {}
    for source, arrival in arrivals:
        inner = nodes[source]
        same = _is_gate(inner) and inner.detail[:3] == node.detail[:3]
        found[source] = arrival.terms if same else 1
    return found


def _is_gate(node: Node) -> bool:
    return node.kind == "logic" and node.associative


def only_inverts(node: Node, source: Node) -> bool:
    """Whether logic is the opposite of other logic, which the tables of that one make."""
    single = node.detail == "xor1" and len(node.leaves) == 1
    return single and source.kind in ("logic", "equal")


def levels_of(inputs: int, most: int) -> int:
    """Levels of a tree of tables of ``most`` inputs, with so many of its own."""
    return ceil(log(inputs, most) - 0.01)


def of_long_chain(levels: int) -> float:
    """The part of its delay that one more level of logic costs behind so many."""
    return next((part for deep, part in FLATTER if levels >= deep), 1.0)
