"""Share out the writes of long branches to branches without conditions, which become functions.

Those that pass values on to each other come together, so that functions read what others write as
little as possible: first a lane, then the next one.
"""

from __future__ import annotations

from collections import defaultdict

from .branches import Branch
from .graph import Graph, Node, Write

MOST = 200
"""Writes of one branch that are not shared out."""


def share_out(graph: Graph, root: Branch) -> None:
    """Make inner branches of the writes of a branch that has many."""
    long = [branch for branch in root.all() if len(branch.writes) > MOST]
    if not long:
        return
    rank = _along_values(graph)
    for branch in long:
        writes, branch.writes = branch.writes, []
        # Writes of one memory stay together, and in order.
        writes.sort(key=lambda write: rank.get(write.state, -1))
        for part in _cut(writes):
            branch.open(None).writes = part


def _cut(writes: list[Write]) -> list[list[Write]]:
    parts: list[list[Write]] = []
    for write in writes:
        full = not parts or len(parts[-1]) >= MOST
        if full and not (parts and write.state == parts[-1][-1].state):
            parts.append([])
        parts[-1].append(write)
    return parts


def _along_values(graph: Graph) -> dict[int, int]:
    """A number for each register and memory, along the values that each hands on to others."""
    users: dict[Node, list[Node | Write]] = defaultdict(list)
    readers: dict[int, list[Node]] = defaultdict(list)
    for node in graph.nodes:
        for operand in node.operands:
            users[operand].append(node)
        if node.reads:
            readers[node.state].append(node)
    for write in graph.writes:
        for operand in (*write.operands[1:], *(test for test, _ in write.tests)):
            users[operand].append(write)
    rank: dict[int, int] = {}
    seen: set[Node] = set()
    waiting: list[Node | Write] = [n for n in reversed(graph.nodes) if not n.operands or n.reads]
    while waiting:
        at = waiting.pop()
        if isinstance(at, Node):
            if at not in seen:
                seen.add(at)
                waiting += reversed(users[at])
        elif at.state not in rank:
            rank[at.state] = len(rank)
            waiting += readers[at.state]
    return rank
