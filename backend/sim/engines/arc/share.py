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
FEW = 20
"""Writes of a branch that is left whole, whatever they take."""
LARGEST = 1500
"""Operations that the writes of one part take, about: LLVM schedules the instructions of a block in a time
that is quadratic in their number, and 200 sums of floats are ten thousand instructions."""


def share_out(graph: Graph, root: Branch) -> None:
    """Make inner branches of the writes of a branch that has many."""
    long = [branch for branch in root.all() if _is_long(branch.writes)]
    if not long:
        return
    rank = _along_values(graph)
    for branch in long:
        writes, branch.writes = branch.writes, []
        # Writes of one memory stay together, and in order.
        writes.sort(key=lambda write: rank.get(write.state, -1))
        for part in _cut(writes):
            branch.open(None).writes = part


def _is_long(writes: list[Write]) -> bool:
    if len(writes) > MOST or len(writes) < FEW:
        return len(writes) > MOST
    taken: set[Node] = set()
    for write in writes:
        _take_in(write, taken)
        if len(taken) >= LARGEST:
            return True
    return False


def _cut(writes: list[Write]) -> list[list[Write]]:
    """Parts of writes that follow each other, each within bounds."""
    parts: list[list[Write]] = []
    taken: set[Node] = set()
    for write in writes:
        full = not parts or len(parts[-1]) >= MOST or len(taken) >= LARGEST
        if full and not (parts and write.state == parts[-1][-1].state):
            parts.append([])
            taken = set()
        parts[-1].append(write)
        _take_in(write, taken)
    return parts


def _take_in(write: Write, taken: set[Node]) -> None:
    """Add the operations that a write needs, until there are more than a part is to have."""
    waiting = list(write.operands)
    while waiting and len(taken) < LARGEST:
        node = waiting.pop()
        if node in taken or node.is_constant or node.reads:
            continue
        taken.add(node)
        waiting += node.operands


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
