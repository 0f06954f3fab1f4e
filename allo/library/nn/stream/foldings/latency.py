"""From the first element of an image to the last one of its result: as bounds that foldings set."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from math import ceil
from typing import Any

from allo.explore.networks.cheapest import Demand

from ..layers import Fold, Layer, Whole
from .timing import Course, Cycles, course, cycles

SOURCE = 3
"""Cycles of the unit that reads the image, before its first word."""
SINK = 2
"""Of the unit that writes the result, behind the last word."""
MORE = 1.02
"""What simulations take more than the bounds say: -4 to 4 % in networks of tests and ResNet-8."""
_SCALE, _LONGEST = 1024, 1 << 40
Times = tuple[float, float, float]
"""Of a result, when it begins, when its burst does, and when it ends; or factors of these three."""


@dataclass(frozen=True, slots=True)
class Bound:
    """One of the three times of a result is at least factors of those of another, and cycles.

    Attributes:
        time: which one, 0 to 2.
        read: whose times the factors are of; the layer itself, for its burst.
        factors: of these.
        kind: the cycles that a folding gives: ``"first"``, ``"delay"``, ``"work"`` or ``"tail"``.
        part: of the work, how much.
    """

    time: int
    read: str
    factors: Times
    kind: str
    part: float = 1.0

    def cycles(self, of: Cycles) -> int:
        """Those of a folding."""
        if self.kind == "work":
            return of.delay + round(self.part * (of.work - of.delay))
        return int(getattr(of, self.kind))


def bounds(layer: Layer, courses: Mapping[str, Course]) -> Iterator[Bound]:
    """What the times of a layer's result are bounded by.

    Args:
        layer: the layer.
        courses: of the layer and of those that it reads.
    """
    mine = courses[layer.name]
    for read in layer.reads:
        burst = courses[read].burst
        begun, needed = _when(mine.head, burst), _when(mine.needs, burst)
        yield Bound(0, read, begun, "first")
        yield Bound(0, read, needed, "delay")
        yield Bound(1, read, begun, "work", 1 - mine.burst)
        yield Bound(1, read, _when(mine.until, burst), "delay")
        yield Bound(2, read, begun, "work")
        if mine.head < 1 - burst < mine.until:
            done = (1 - burst - mine.head) / (mine.until - mine.head) * (1 - mine.burst)
            yield Bound(2, read, (0.0, 1.0, 0.0), "work", 1 - done)
    yield Bound(2, layer.name, (0.0, 1.0, 0.0), "tail")


def _when(part: float, burst: float) -> Times:
    """When a part of a result has gone, as factors of its three times."""
    even = 1 - burst
    if part <= even and even > 0:
        return 1 - part / even, part / even, 0.0
    behind = (part - even) / burst
    return 0.0, 1 - behind, behind


def of_image(elements: int) -> Times:
    """When the image comes, an element in a cycle."""
    return float(SOURCE + 1), float(SOURCE + elements), float(SOURCE + elements)


def evaluate(
    layers: Sequence[Layer], image: tuple[str, int], chosen: Mapping[str, Cycles]
) -> dict[str, Times]:
    """The times of each result, in cycles.

    Args:
        layers: in an order in which each reads earlier ones.
        image: its name, and its elements.
        chosen: what the folding of each layer makes of it.
    """
    courses = courses_of(layers, image[0])
    found: dict[str, Times] = {image[0]: of_image(image[1])}
    for layer in layers:
        times = [0.0, 0.0, 0.0]
        for bound in bounds(layer, courses):
            of = times if bound.read == layer.name else found[bound.read]
            at = sum(f * t for f, t in zip(bound.factors, of, strict=True))
            at += bound.cycles(chosen[layer.name])
            times[bound.time] = max(times[bound.time], at)
        found[layer.name] = times[0], max(times[:2]), max(times)
    return found


def piled(
    layers: Sequence[Layer], image: tuple[str, int], folds: Mapping[str, Fold]
) -> dict[str, float]:
    """Of layers that would hold up another way, the part of an image that waits in front of them at most.

    A layer between a fork and a join that takes longer than its image takes to come holds up the fork, and
    so the layers on the other way, where these have much to do behind the fork's last word. What waits
    needs room then, of an image that comes alone.

    Args:
        layers, image: as in :func:`evaluate`.
        folds: of the layers.
    """
    works = {layer.name: layer.work for layer in layers if isinstance(layer, Whole)}
    chosen = {layer.name: cycles(layer, folds[layer.name], works) for layer in layers}
    times, courses = evaluate(layers, image, chosen), courses_of(layers, image[0])
    found = {}
    for layer in _holding_up(layers, times):
        begin, _, end = times[layer.reads[0]]
        rest = 1 - courses[layer.name].head
        work = chosen[layer.name].work - chosen[layer.name].delay
        found[layer.name] = max(0.0, rest * (1 - rest * (end - begin) / work))
    return found


def _holding_up(layers: Sequence[Layer], times: Mapping[str, Times]) -> Iterator[Layer]:
    """The layers of one input whose fork would give its last word too late for another way to the join."""
    reads = [read for layer in layers for read in layer.reads]
    joins = [layer for layer in layers if len(layer.reads) > 1]
    for fork in {read for read in reads if reads.count(read) > 1}:
        ways: dict[str, frozenset[str]] = {fork: frozenset()}
        for layer in layers:
            starts = frozenset([layer.name] if fork in layer.reads else [])
            ways[layer.name] = starts.union(*(ways.get(read, frozenset()) for read in layer.reads))
        for join, (mine, other) in ((j, pair) for j in joins for pair in permutations(j.reads, 2)):
            behind = times[other][2] - times[fork][2]
            apart = ways.get(mine) and not ways[mine] & ways.get(other, frozenset())
            if not apart or not (other == fork or ways.get(other)):
                continue
            for layer in layers:
                on_way = ways[layer.name] and ways[layer.name] <= ways[mine]
                late = times[layer.name][1] + behind > times[join.name][2] * MORE
                if on_way and late and len(layer.reads) == 1:
                    yield layer


def total(layers: Sequence[Layer], times: Mapping[str, Times]) -> int:
    """When the last element of the last result has been written, and every layer is at rest."""
    written = times[layers[-1].name][0] + layers[-1].elements
    return ceil((max(written, *(end for _, _, end in times.values())) + SINK) * MORE)


def courses_of(layers: Sequence[Layer], image: str) -> dict[str, Course]:
    """How each layer, and the image itself, goes along."""
    return {image: Course(0.0, 0.0, 1.0, 0.0), **{layer.name: course(layer) for layer in layers}}


def demand(
    layers: Sequence[Layer],
    image: tuple[str, int],
    rows: Sequence[Sequence[Cycles]],
    most: int | None,
) -> Demand:
    """The same bounds for CP-SAT: that a network takes no more than ``most`` cycles.

    Args:
        layers, image: as in :func:`evaluate`.
        rows: what each folding of each layer makes of it.
        most: cycles; None for the least that there are.
    """
    courses = courses_of(layers, image[0])

    def conditions(model: Any, chosen: list[list[Any]]) -> Any:
        times: dict[str, Sequence[Any]] = {image[0]: [int(time) for time in of_image(image[1])]}
        end = model.new_int_var(0, _LONGEST, "end")
        for layer, table, mine in zip(layers, rows, chosen, strict=True):
            times[layer.name] = [
                model.new_int_var(0, _LONGEST, f"{layer.name}_{n}") for n in range(3)
            ]
            for bound in bounds(layer, courses):
                of = zip(bound.factors, times[bound.read], strict=True)
                at = sum(round(f * _SCALE) * time for f, time in of if f)
                own = zip(table, mine, strict=True)
                at += sum(_SCALE * bound.cycles(each) * row for each, row in own)
                model.add(_SCALE * times[layer.name][bound.time] >= at)
            model.add(times[layer.name][1] >= times[layer.name][0])
            model.add(end >= times[layer.name][2])
        model.add(end >= times[layers[-1].name][0] + layers[-1].elements)
        if most is None:
            return end
        model.add(end <= int(most / MORE) - SINK)
        return None

    return conditions
