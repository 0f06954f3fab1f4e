"""Loads that give one word in every iteration of a pipeline, done once in front of it.

``B[r, e] -= f[r] * B[p, e]`` under ``if r != p`` takes three ports in an iteration, two where the row p is
read before the loop over r. A word is the same in all iterations where nothing of its subscript changes in
the loop, and where no store of the loop may be of its element.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import prod

from ...graph.nodes import Body, Node
from ...graph.regions import Block, Leaf, Level, Loop, Region, Seq
from ..cycles import middle_trips
from .dependence import Distances

UNKNOWN_TRIPS = 1000
"""Iterations to reckon with where bounds tell nothing."""


def behind_loads(
    leaf: Leaf,
    front: Body,
    bound: Callable[[Body], int],
    busy: Callable[[Node], bool],
    planned: Callable[[Leaf, Body | None], Region],
) -> Region:
    """A pipeline behind what it repeats, in as many loops around it as that takes, where it is faster.

    Args:
        front: an empty body.
        bound: the least interval that a body's ports allow.
        busy: whether a load wants a port that lacks slots.
        planned: schedules a leaf, and the body in front of it.
    """
    levels, least = leaf.levels, bound(leaf.body)
    fewest, best, tried = run_cycles(leaf), -1, False
    found: tuple[Hoisted, Region] | None = None
    """What the last try has left, where it is the best one."""
    for outer in range(len(levels)):
        if found is not None:
            found[0].undo()
            found = None
        leaf.levels = levels[outer:]
        moved = Hoisted.of(leaf, front, busy)
        if moved is None:
            continue
        if bound(leaf.body) < least:
            tried = True
            region = planned(leaf, front)
            cycles = runs_of(levels[:outer]) * (front.depth + run_cycles(leaf))
            if leaf.levels == levels[outer:] and cycles < fewest:
                fewest, best, found = cycles, outer, (moved, region)
                continue
        moved.undo()
    leaf.levels = levels[max(0, best) :]
    if not tried:
        return leaf
    if best < 0:
        return planned(leaf, None)
    if found is None:
        Hoisted.of(leaf, front, busy)
        region = planned(leaf, front)
    else:
        region = found[1]
    region = Seq([Block(front), region])
    for level in reversed(levels[:best]):
        region = Loop(level, Seq([region]), band=leaf.band)
    return region


def runs_of(levels: Sequence[Level]) -> int:
    """How often a nest runs what stands in it, with a guess where its bounds are not known."""
    return prod(middle_trips(level, UNKNOWN_TRIPS) for level in levels)


def run_cycles(leaf: Leaf) -> int:
    """Cycles of one run of a pipeline, with the same guess."""
    return (runs_of(leaf.levels) - 1) * leaf.body.ii + leaf.body.depth


@dataclass(slots=True)
class Hoisted:
    """What has gone from the body of a leaf to one in front of it.

    Attributes:
        front: the body in front.
    """

    leaf: Leaf
    front: Body
    _before: list[Node]
    _crossing: list[Node] = field(default_factory=list)

    @classmethod
    def of(cls, leaf: Leaf, front: Body, busy: Callable[[Node], bool]) -> Hoisted | None:
        """Move the loads of busy ports that a loop repeats, with their addresses; None for none."""
        same = _Same(leaf)
        wanted: dict[int, Node] = {}
        for node in leaf.body.nodes:
            if node.kind == "load" and busy(node) and same.in_all(node):
                _with_operands(node, leaf.body, wanted)
        if not wanted:
            return None
        made = cls(leaf, front, leaf.body.nodes)
        rest = [node for node in made._before if node.number not in wanted]
        read = {operand.number for node in rest for operand in node.operands}
        front.nodes = [node for node in made._before if node.number in wanted]
        leaf.body.nodes = rest
        for node in front.nodes:
            node.body = front
            if node.number in read and not node.crosses:
                node.crosses = True
                made._crossing.append(node)
        return made

    def undo(self) -> None:
        """Put everything back."""
        self.leaf.body.nodes = self._before
        for node in self.front.nodes:
            node.body = self.leaf.body
        for node in self._crossing:
            node.crosses = False


class _Same:
    """What has one value in all iterations of a leaf."""

    def __init__(self, leaf: Leaf) -> None:
        self._body = leaf.body
        self._distances = Distances(leaf.body, leaf.levels)
        self._moving = {level.iv.number for level in leaf.levels if level.trips != 1}
        self._moving |= {stepped.node.number for stepped in leaf.stepped}
        self._place = {node.number: n for n, node in enumerate(leaf.body.nodes)}
        self._stores = [node for node in leaf.body.nodes if node.kind == "store"]
        self._known: dict[int, bool] = {}

    def in_all(self, node: Node) -> bool:
        """Whether the value of a node is the same in all iterations."""
        if node.is_free or node.body is not self._body:
            return node.number not in self._moving
        if node.number not in self._known:
            self._known[node.number] = self._computed(node)
        return self._known[node.number]

    def _computed(self, node: Node) -> bool:
        if not all(self.in_all(part) for part in _parts(node)):
            return False
        if node.kind in ("wire", "lin"):
            return True
        if node.kind == "op":
            return not node.latency
        return node.kind == "load" and self._kept(node)

    def _kept(self, load: Node) -> bool:
        """Whether no store of the loop may be of the element that a load takes."""
        access = load.access
        if access is None or access.by_bank or access.array.private is not None:
            return False
        if access.predicate is not None or not all(
            self.in_all(node) for index in access.index for node, _ in index.terms
        ):
            return False
        for store in self._stores:
            if store.access is None or store.access.array is not access.array:
                continue
            before = self._place[store.number] < self._place[load.number]
            before = before and self._distances.meet(store, load)
            if before or self._distances.least(store, load) is not None:
                return False
        return True


def _parts(node: Node) -> Sequence[Node]:
    """What a value is made of; a load's address, which is all that it needs."""
    access = node.access
    if access is None:
        return node.operands
    return [part for part in (access.word_node, access.bank_node) if part is not None]


def _with_operands(node: Node, body: Body, wanted: dict[int, Node]) -> None:
    """Take a node and the nodes of its body that it is made of."""
    if node.body is body and node.number not in wanted:
        wanted[node.number] = node
        for part in _parts(node):
            _with_operands(part, body, wanted)
