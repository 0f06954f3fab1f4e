"""Loops that are left early: iterations start before it is known that they run.

Nothing that can be seen may happen in an iteration before the exits of all earlier ones are known. A
register of which only the loop knows is written all the same; in the last iteration it takes the value
that this one leaves.
"""

from __future__ import annotations

from ..graph.nodes import Body, Edge, Exit, Leaf, Node
from ..graph.prune import EFFECTS


def keep_live(leaf: Leaf) -> None:
    """Forget nodes of guesses that were found to be dead."""
    if leaf.exit is not None:
        extra = {node.number for node in leaf.exit.extra}
        leaf.exit.extra = [node for node in leaf.body.nodes if node.number in extra]


def guess(body: Body, found: Exit) -> None:
    """Let iterations leave in registers what they leave if another one follows."""
    if found.guessing:
        return
    _add_extra(body, found)
    found.guessing = True
    for item in found.guesses:
        if item.following in item.loads:
            body.nodes.remove(item.store)
            continue
        _write(item.store, item.following)


def do_not_guess(body: Body, found: Exit) -> None:
    """Let iterations leave what they leave; the opposite of :func:`guess`."""
    if found.guessing:
        present = {node.number for node in body.nodes}
        for item in found.guesses:
            _write(item.store, item.final)
            if item.store.number not in present:
                body.nodes.append(item.store)
    found.guessing = False
    extra = {node.number for node in found.extra}
    body.nodes = [node for node in body.nodes if node.number not in extra]


def _add_extra(body: Body, found: Exit) -> None:
    present = {node.number for node in body.nodes}
    missing = [node for node in found.extra if node.number not in present]
    at = body.nodes.index(found.node)
    body.nodes[at:at] = missing


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


def without_exit(leaf: Leaf) -> None:
    """Forget that a loop may be left early: it counts to its end."""
    if leaf.exit is None:
        return
    do_not_guess(leaf.body, leaf.exit)
    leaf.body.nodes.remove(leaf.exit.node)
    leaf.exit = None
