"""Triangles in pieces: rows of about the same work are a pipeline with an interval of their own.

A pipeline has the units of its longest iteration, so that in a triangle half of them stand still. Where the
loop over rows is cut, the short rows follow each other in fewer cycles. The pieces run one after the other
and share their units.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from itertools import combinations, pairwise
from math import ceil

from allo.schedule.handles import LoopWrapper
from allo.schedule.primitives.ranges.cut import REST

from ..apply import Step
from ..model.kernel import Kernel, Loop, Nest

PIECES = 2, 3
"""Into how many pieces a loop is cut, in the order in which they are tried."""
PLACES = 30
"""Places at which a loop may be cut, at most."""
GAIN = 0.95
"""Of the cycles of fewer pieces, what more of them take at most."""

type Work = Callable[[Kernel], int]
"""The multiplier blocks that one iteration of a loop takes in a cycle."""


def cuts_of(kernel: Kernel, number: int, place: int, work: Work, limit: int) -> list[list[int]]:
    """The iterators at which pieces begin, for two pieces and more, while these take fewer cycles together.

    Args:
        number, place: the nest and the place of the loop in its chain.
        limit: of multiplier blocks, in every cycle.
    """
    loop = kernel.nests[number].chain[place]
    if not loop.constant or not any(_is_over(each, loop) for each in _inside(kernel, number)):
        return []

    @cache
    def cycles(low: int, high: int) -> int:
        blocks = work(narrowed(kernel, number, loop, low, high))
        return (high - low) * max(1, ceil(blocks / limit))

    def together(cuts: tuple[int, ...]) -> int:
        return sum(cycles(a, b) for a, b in pairwise((loop.low, *cuts, loop.low + extent)))

    extent = loop.extent or 1
    places = {loop.low + extent * n // PLACES for n in range(1, PLACES)} - {loop.low}
    best, found = together(()), list[list[int]]()
    for count in PIECES:
        cuts = min(combinations(sorted(places), count - 1), key=together, default=())
        if not cuts or together(cuts) > GAIN * best:
            break
        best = together(cuts)
        found.append(list(cuts))
    return found


def steps_of_cuts(nest: Nest, place: int, cuts: list[int]) -> Iterator[Step]:
    """The loop cut at these iterators, from the first to the last."""
    band, name = nest.band, nest.chain[place].name
    outermost = place == 0 and nest.parent is None
    for at in cuts:
        yield Step("cut", (LoopWrapper(nest.function, band, name), at))
        band, name = (f"{band}{REST}" if outermost else band), f"{name}{REST}"


def narrowed(kernel: Kernel, number: int, loop: Loop, low: int, high: int) -> Kernel:
    """The kernel with a loop from ``low`` to ``high``, and loops inside as short as these make them."""
    inside = {nest.number for nest in _inside(kernel, number)}
    nests = [
        replace(nest, chain=[_narrow(each, loop, low, high) for each in nest.chain])
        if nest.number in inside
        else nest
        for nest in kernel.nests
    ]
    return replace(kernel, nests=nests)


def _narrow(each: Loop, loop: Loop, low: int, high: int) -> Loop:
    if each is loop:
        return replace(loop, low=low, extent=high - low)
    if each.over is None or each.over[0] != loop.name:
        return each
    (first, begin), (last, end) = each.over[1:]
    most = max((last - first) * at + end - begin for at in (low, high - 1))
    return replace(each, extent=max(0, most))


def _inside(kernel: Kernel, number: int) -> list[Nest]:
    """A nest and those in its body."""
    return [n for n in kernel.nests if number in (n.number, *kernel.around(n))]


def _is_over(nest: Nest, loop: Loop) -> bool:
    return any(each.over is not None and each.over[0] == loop.name for each in nest.chain)
