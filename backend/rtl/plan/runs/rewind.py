"""``rewind``: a pipeline starts its next run, in the loops around it, while the last one drains.

Where dependences between two runs keep the nest from being one pipeline of the same interval, the next
run waits just as long as these ask, and not until the pipeline is empty.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from itertools import product

from ...graph.nodes import Node
from ...graph.regions import If, Leaf, Loop, Region, Seq, While
from ..orders.dependence import Distances

MOST_ACCESSES = 256
"""Accesses of one array that are compared in pairs; a pipeline of more drains."""


def can_rewind(leaf: Leaf) -> bool:
    """Whether a pipeline is asked to, and knows how often each of its loops runs."""
    if not leaf.rewind or leaf.exit is not None or len(leaf.levels) < 2:
        return False
    streams = any(node.stream is not None for node in leaf.body.nodes)
    return not streams and all(level.trips is not None for level in leaf.levels)


def gap_between_runs(leaf: Leaf) -> int | None:
    """Cycles, a multiple of the interval, to leave between two runs of the scheduled inner levels.

    A later access of an element starts at least a cycle after an earlier one where one of them is a
    store. None where there are too many accesses to compare.
    """
    body = leaf.body
    by_array: dict[int, list[Node]] = defaultdict(list)
    for node in body.nodes:
        if node.access is not None and node.kind in ("load", "store"):
            by_array[node.access.array.number].append(node)
    distances, wait = Distances(body, leaf.levels), 0
    for nodes in by_array.values():
        stores = [node for node in nodes if node.kind == "store"]
        if stores and len(nodes) > MOST_ACCESSES:
            return None
        for first, second in (*product(stores, nodes), *product(nodes, stores)):
            distance = distances.least(first, second)
            if distance is not None:
                wait = max(wait, first.time + 1 - second.time - distance * body.ii)
    return -(-wait // body.ii) * body.ii


def draining(region: Region, *, again: bool = False) -> Iterator[Leaf]:
    """The pipelines asked to rewind that drain all the same, in a part that runs ``again`` and again."""
    match region:
        case Seq():
            for child in region.children:
                yield from draining(child, again=again)
        case Loop():
            yield from draining(region.child, again=True)
        case While():
            yield from draining(region.child, again=True)
        case If():
            yield from draining(region.then, again=again)
            yield from draining(region.other, again=again)
        case Leaf() if region.rewind and again:
            yield region


def note_on(leaf: Leaf) -> str:
    """What the report says of a pipeline that drains although it was asked not to."""
    return (
        f"rewind has no effect on loop {leaf.levels[-1].name} ({leaf.place}): its pipeline drains before "
        "it runs again, because the loop around it holds other code, has bounds known only when it "
        "runs, or gains nothing."
    )


__all__ = ["can_rewind", "draining", "gap_between_runs", "note_on"]
