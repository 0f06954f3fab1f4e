"""Loops that are left early: iterations start before it is known that they run.

Nothing that can be seen may happen in an iteration before the exits of all earlier ones are known. A
register of which only the loop knows is written all the same; in the last iteration it takes the value
that this one leaves.
"""

from __future__ import annotations

from ..graph.nodes import Body, Edge, Node
from ..graph.prune import EFFECTS
from ..graph.regions import Exit, Leaf


def note_extra(leaf: Leaf) -> None:
    """Note which nodes only guesses need, once all nodes are there."""
    found = leaf.exit
    if found is None:
        return
    found.nodes = list(leaf.body.nodes)
    live: set[int] = set()
    stack = [node for node in found.nodes if node.kind in EFFECTS or node.crosses]
    stack += [item.final for item in found.guesses]
    while stack:
        node = stack.pop()
        if node.number not in live:
            live.add(node.number)
            stack += node.operands
    found.extra = frozenset(node.number for node in found.nodes if node.number not in live)


def guess(body: Body, found: Exit) -> None:
    """Let iterations leave in registers what they leave if another one follows."""
    found.guessing = True
    kept: set[int] = set()
    for item in found.guesses:
        if item.following in item.loads:
            kept.add(item.store.number)
        _write(item.store, item.following)
    body.nodes = [node for node in found.nodes if node.number not in kept]


def do_not_guess(body: Body, found: Exit) -> None:
    """Let iterations leave what they leave; the opposite of :func:`guess`."""
    found.guessing = False
    for item in found.guesses:
        _write(item.store, item.final)
    body.nodes = [node for node in found.nodes if node.number not in found.extra]


def _write(store: Node, value: Node) -> None:
    assert store.access is not None
    store.access.data = value
    store.operands = (value, *store.operands[1:])


def exit_edges(body: Body, found: Exit) -> list[Edge]:
    """Nothing but guesses happens before the exit of the iteration before is known."""
    guessed = {item.store.number for item in found.guesses}
    return [
        Edge(found.node, node, 1, 1)
        for node in body.nodes
        if node.kind in EFFECTS and node is not found.node and node.number not in guessed
    ]


def settle_exit(body: Body, found: Exit) -> int:
    """Set the steps of a scheduled body's exit; how many cycles an iteration takes for them."""
    found.step = max(found.node.time, body.ii - 1)
    present = {node.number for node in body.nodes}
    depth = found.step + 1
    for item in found.guesses if found.guessing else ():
        times = [found.step, item.final.avail if item.final.body is body else 0]
        times += [load.time for load in item.loads if load.number in present]
        if item.store.number in present:
            times.append(item.store.time)
        item.step = max(times)
        depth = max(depth, item.step + 1)
    return depth


def without_exit(leaf: Leaf) -> Exit | None:
    """Forget that a loop may be left early, so that it counts to its end; what was forgotten."""
    found = leaf.exit
    if found is not None:
        do_not_guess(leaf.body, found)
        leaf.body.nodes.remove(found.node)
        leaf.exit = None
    return found
