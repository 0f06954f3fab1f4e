"""Asserted dependences without which the schedule would be as it is: the report tells them.

``s.dependence`` says that accesses meet later than subscripts tell. It is not needed where the times that the
scheduler found keep the orders that subscripts alone ask for, and where iterations do not overlap.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product

from allo.dialects.affine.asserted import KINDS, Asserted

from ...graph.nodes import Node
from ...graph.prune import regions_of
from ...graph.regions import Leaf, Level, Loop, Region
from ..explain import short
from .dependence import Distances

MOST_PAIRS = 100_000
"""Accesses compared for one assertion; one of more is taken to be of use."""


def unheard(root: Region) -> list[str]:
    """A note for each assertion of a planned function that changes nothing."""
    reasons: dict[int, list[str]] = {}
    marks: dict[int, tuple[Asserted, Level]] = {}
    for region in regions_of(root):
        for level in _levels(region):
            for mark in level.asserted:
                marks[mark.number] = mark, level
                reasons.setdefault(mark.number, []).append(_idle(region, mark))
    return [
        f"`s.dependence` of {mark.array} on loop {level.name} ({short(level.place)}) changes nothing: "
        f"{reasons[number][0]}."
        for number, (mark, level) in sorted(marks.items())
        if all(reasons[number])
    ]


def _levels(region: Region) -> list[Level]:
    match region:
        case Leaf():
            return region.levels
        case Loop():
            return [region.level]
    return []


def _idle(region: Region, mark: Asserted) -> str:
    """Why an assertion changes nothing in a region; "" where it does."""
    if not isinstance(region, Leaf) or not region.body.overlaps:
        return "iterations of the loop run one after another, and no mark makes them overlap"
    pairs = list(_pairs(region, mark))
    if not pairs:
        return f"no two accesses of {mark.array} in the pipeline are of the kind that it names"
    if len(pairs) > MOST_PAIRS:
        return ""
    plain = Distances(region.body, [_without(level, mark) for level in region.levels])
    found = [(first, second, plain.least(first, second)) for first, second in pairs]
    if all(distance is None for _, _, distance in found):
        return "the subscripts say that these accesses never meet in two iterations"
    ii = region.body.ii
    if any(not _kept(first, second, d, ii) for first, second, d in found if d is not None):
        return ""
    return f"with II={ii} every order that the subscripts ask for is kept"


def _pairs(leaf: Leaf, mark: Asserted) -> Iterator[tuple[Node, Node]]:
    """The accesses that an assertion speaks of, the earlier and the later one."""
    covered = [
        n for n in leaf.body.nodes if n.access is not None and mark.number in n.access.asserted
    ]
    for first, second in product(covered, covered):
        writes = first.kind == "store", second.kind == "store"
        if any(ends == writes and mark.covers(kind) for kind, ends in KINDS.items()):
            yield first, second


def _without(level: Level, mark: Asserted) -> Level:
    return replace(level, asserted=tuple(a for a in level.asserted if a.number != mark.number))


def _kept(first: Node, second: Node, distance: int, ii: int) -> bool:
    """Whether a schedule keeps an order between two iterations."""
    latency = 1 if first.kind == "store" else 0
    return first.time + latency - distance * ii <= second.time
