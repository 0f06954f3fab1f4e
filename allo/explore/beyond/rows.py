"""Whole rows at once, for arrays in external memory: an iteration of a pipeline takes a row in its order.

The sums of a row are trees, and units are shared by the cycles from one iteration to the next. So words of
the bus pass as they come, and tasks that read apart run at the same time.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import ceil

from allo.dialects.core.partition import Partition
from allo.schedule.handles import LoopWrapper

from ..apply import Step, accepted
from ..budget import excess, excess_share
from ..model.kernel import Kernel
from ..regions.counted import OUTSIDE
from .builder import Builder
from .hoist import WHOLE, hoisted, steps_of_loops, units_of

SHARE, TRIES = 0.7, 6
"""Share of the time until which they are tried; how many intervals of one."""


def try_rows(search: Builder) -> None:
    """Pipelines around whole rows, at the least interval that fits; nothing where no array lies outside."""
    if not OUTSIDE.intersection(search.asked.options):
        return
    for loops in hoisted(search.kernel):
        for dataflow in reversed(search.kernel.variants):
            _narrow(search, loops, dataflow=dataflow)


def _narrow(search: Builder, loops: dict[int, int], *, dataflow: bool) -> None:
    """Wider intervals by what is too much of a design, then narrower ones until it is too much again."""
    interval, fits, tried = 1, False, set[int]()
    for _ in range(TRIES):
        left = SHARE * search.asked.seconds - search.elapsed
        if interval < 1 or interval in tried or left <= 0:
            return
        tried.add(interval)
        steps = steps_of_rows(
            search.kernel, loops, interval, trees=search.asked.reassociate, dataflow=dataflow
        )
        trial, kept = accepted(search.given, steps)
        built = search.keep(kept, None, trial, left) if steps else None
        if built is None:
            return
        if not excess(search.asked.limits, built.report):
            fits, interval = True, interval - 1
        elif fits:
            return
        else:
            interval = ceil(interval * excess_share(search.asked.limits, built.report))


def steps_of_rows(
    kernel: Kernel, loops: dict[int, int], interval: int, *, trees: bool, dataflow: bool
) -> list[Step]:
    """Pipelines around these loops, by nest and place in its chain; none where that is nothing new.

    Args:
        interval: of the nest with the most units; the others have their share of it.
        trees: whether sums of floats may be added up in another order.
        dataflow: whether tasks run at the same time.
    """
    pipelines = steps_of_loops(kernel, loops, interval)
    units = {number: units_of(kernel, number, place) for number, place in loops.items()}
    most = max([1, *units.values()])
    steps = []
    for step in pipelines:
        if step.primitive == "pipeline" and step.nest is not None:
            own = ceil(interval * units.get(step.nest, most) / most)
            step = replace(step, options=(("initiation_interval", own),) if own > 1 else ())
        steps.append(step)
    if steps:
        steps += [*_between(kernel), *_trees(kernel, loops, trees)]
        if dataflow and not kernel.together:
            steps.append(Step("dataflow", (kernel.top,)))
    return steps


def _between(kernel: Kernel) -> Iterator[Step]:
    """Vectors from one nest to the next in registers, so that they are filled in a cycle."""
    for _, array in sorted(kernel.arrays.items()):
        free = array.local and not array.obstacle and not array.banked
        if free and len(array.shape) == 1 and 1 < array.shape[0] <= WHOLE:
            yield Step("partition", (array.handle, Partition.Complete, 1))


def _trees(kernel: Kernel, loops: dict[int, int], trees: bool) -> Iterator[Step]:
    """Trees for the sums of loops inside the pipelines."""
    for nest in kernel.nests:
        around = (nest.number, *kernel.around(nest))
        place = next((loops[number] for number in around if number in loops), None)
        if place is None:
            continue
        inside = nest.chain[place + 1 :] if nest.number in loops else nest.chain
        for loop in inside:
            sums = [each for each in nest.sums if loop.name in each.over]
            if sums and (trees or not any(each.rounded for each in sums)):
                handle = LoopWrapper(nest.function, nest.band, loop.name)
                yield Step("rebalance", (handle,), nest=nest.number)


__all__ = ["steps_of_rows", "try_rows"]
