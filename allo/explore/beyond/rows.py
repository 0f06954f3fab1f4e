"""Whole rows at once, for arrays in external memory: an iteration of a pipeline takes a row in its order.

The sums of a row are trees, and units are shared by the cycles from one iteration to the next: a product of
matrices has each multiplier of the limit at work in nearly every cycle. Words of the bus pass as they come,
and tasks that read apart run at the same time.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from math import ceil, prod

from allo.dialects.core.partition import Partition
from allo.schedule.handles import LoopWrapper

from ..apply import Step, accepted
from ..budget import Built, excess, excess_share
from ..model.kernel import Kernel, Nest
from ..model.read import read_kernel
from ..model.units import Units
from ..regions.counted import OUTSIDE
from .builder import Builder
from .hoist import WHOLE, hoisted, steps_of_loops, units_of
from .lanes import with_lanes
from .merged import has_triangle, merged
from .passed import steps_of_passing
from .pieces import cuts_of, steps_of_cuts

SHARE, ONE, TRIES = 0.6, 0.5, 6
"""Share of the time until which they are tried; of what is left of it, what one report may take; how many
intervals of one are tried."""
SURE = 1.1
"""Times a limit: a narrower interval that would take more is not tried."""
DRAIN, CLEARLY = 40, 0.9
"""Cycles in which a pipeline of rows ends, about; what tasks one after the other take of those at the same
time at most, to be tried first."""
SHARED = 4096
"""The most operations of units in a row, as the iterations share them."""


def try_rows(search: Builder) -> None:
    """Pipelines around whole rows, at the least interval that fits; nothing where no array lies outside."""
    if not OUTSIDE.intersection(search.asked.options):
        return
    whole, before = search.kernel, list[Step]()
    if has_triangle(whole):
        whole, before = merged(search.given, whole)
    wanted = steps_of_factors(whole) if search.asked.reassociate else []
    trial, factored = accepted(search.given, [*before, *wanted])
    whole = read_kernel(trial) if factored else whole
    for kernel, cuts in _divided(search, whole, factored):
        _narrow(search, kernel, next(hoisted(kernel, SHARED)), cuts, dataflow=False)
    for loops in hoisted(whole, SHARED):
        passing = list(steps_of_passing(search.given, whole, loops))
        if passing:
            _narrow(search, whole, loops, [*factored, *passing], dataflow=True)
        for dataflow in ways_of_tasks(whole, search.units, loops, search.asked.limits.dsp):
            if not (passing and dataflow):
                _narrow(search, whole, loops, factored, dataflow=dataflow)


def steps_of_factors(kernel: Kernel) -> list[Step]:
    """Products whose factors that an innermost loop does not change are to be multiplied first."""
    return [
        Step("rebalance", (_handle(nest, nest.chain[-1].name),), nest=nest.number)
        for nest in kernel.leaves()
        if nest.chain and not nest.obstacle and _products(nest) > 1
    ]


def _products(nest: Nest) -> int:
    return sum(count for unit, count in nest.work.items() if unit[0] == "arith.mulf")


def _divided(
    search: Builder, kernel: Kernel, before: list[Step]
) -> Iterator[tuple[Kernel, list[Step]]]:
    """The kernel with the rows of its triangles in two pieces and more, and the steps that make it.

    Args:
        kernel: what the steps ``before`` make of that of the search.
    """
    units, limit = search.units, search.asked.limits.dsp
    found: list[tuple[int, int, list[list[int]]]] = []
    for number, place in next(hoisted(kernel, SHARED)).items() if limit else ():

        def work(narrow: Kernel, number: int = number, place: int = place) -> int:
            children = narrow.nests[number].children  # work of a nest around others has whole loops
            if not children:
                return blocks_of(narrow, units, number, place)
            return sum(blocks_of(narrow, units, child, -1) for child in children)

        found.append((number, place, cuts_of(kernel, number, place, work, limit or 1)))
    for most in range(max((len(cuts) for *_, cuts in found), default=0)):
        steps = [
            step
            for number, place, cuts in found
            if cuts
            for step in steps_of_cuts(kernel.nests[number], place, cuts[: most + 1][-1])
        ]
        trial, kept = accepted(search.given, [*before, *steps])
        if len(kept) > len(before):
            yield read_kernel(trial), kept


def ways_of_tasks(
    kernel: Kernel, units: Units, loops: dict[int, int], limit: int | None
) -> list[bool]:
    """Whether tasks run at the same time: both ways, that of fewer cycles first, if both can be.

    Tasks at the same time divide the multiplier blocks between them, also where one waits for all of another.
    """
    if len(kernel.variants) == 1 or not limit:
        return kernel.variants[::-1]
    blocks = {number: blocks_of(kernel, units, number, at) for number, at in loops.items()}

    def cycles(task: int, interval: int) -> int:
        mine = [number for number in loops if number in kernel.tasks[task]]
        most = max([1, *blocks.values()])
        rows = {
            n: prod(each.extent or 1 for each in kernel.nests[n].chain[: loops[n] + 1])
            for n in mine
        }
        return sum(DRAIN + rows[n] * max(1, ceil(interval * blocks[n] / most)) for n in mine)

    alone, apart = (
        [cycles(task, least_interval(limit, blocks.values(), dataflow=way)) for task in tasks]
        for tasks in [range(len(kernel.tasks))]
        for way in (False, True)
    )
    ends: list[int] = []
    for task, took in enumerate(apart):
        before = [ends[first] for first, second in kernel.waits if second == task]
        ends.append(took + max(before, default=0))
    return [False, True] if sum(alone) < CLEARLY * max(ends) else [True, False]


def seconds_of_one(search: Builder) -> float:
    """What one report may take of the time until which designs are tried; none is left at 0 or below."""
    left = search.asked.seconds - search.elapsed
    return min(left - (1 - SHARE) * search.asked.seconds, ONE * left)


def keep_or_excess(search: Builder, steps: list[Step]) -> Built | None:
    """Keep the design of some steps, or return it where it takes more than is allowed.

    None, too, where no time is left for it.
    """
    most = seconds_of_one(search)
    if most <= 0:
        return None
    trial, kept = accepted(search.given, steps)
    built = search.keep(kept, None, trial, most)
    return built if built is not None and excess(search.asked.limits, built.report) else None


def _narrow(
    search: Builder, kernel: Kernel, loops: dict[int, int], before: list[Step], *, dataflow: bool
) -> None:
    """Wider intervals by what is too much of a design, then narrower ones until it is too much again.

    Args:
        kernel: what the steps ``before`` make of that of the search, where they cut its loops.
    """
    units = search.units
    asked = any(step.primitive == "to" for step in before)  # FIFOs ask for dataflow
    blocks = {number: blocks_of(kernel, units, number, at) for number, at in loops.items()}
    interval = least_interval(search.asked.limits.dsp, blocks.values(), dataflow=dataflow)
    fits, tried = False, set[int]()
    for _ in range(TRIES):
        left = seconds_of_one(search)
        if interval < 1 or interval in tried or left <= 0:
            return
        tried.add(interval)
        steps = steps_of_rows(
            kernel,
            loops,
            interval,
            trees=search.asked.reassociate,
            dataflow=dataflow and not asked,
            work=blocks if any(blocks.values()) else None,
        )
        trial, kept = accepted(search.given, [*before, *with_lanes(kernel, steps)])
        built = search.keep(kept, None, trial, left) if steps else None
        if built is None:
            return
        if not excess(search.asked.limits, built.report):
            used = excess_share(search.asked.limits, built.report)
            if interval < 2 or used * interval / (interval - 1) > SURE:
                return
            fits, interval = True, interval - 1
        elif fits:
            return
        else:
            interval = ceil(interval * excess_share(search.asked.limits, built.report))


def least_interval(limit: int | None, blocks: Collection[int], *, dataflow: bool) -> int:
    """The cycles between rows in which the multiplier blocks of the limit do the work of one.

    Nests that run one after the other share their units; tasks that run at the same time do not.
    """
    if not limit:
        return 1
    return max(1, ceil((sum(blocks) if dataflow else max(blocks, default=0)) / limit))


def blocks_of(kernel: Kernel, units: Units, number: int, place: int) -> int:
    """Multiplier blocks of a pipeline that does the work of a row in one cycle."""
    nest = kernel.nests[number]
    inside = nest.chain[place + 1 :]
    if nest.children and not nest.work:
        own = sum(blocks_of(kernel, units, child, -1) for child in nest.children)
        return own * prod(loop.extent or 1 for loop in inside)
    every = {loop.name: loop.extent or 1 for loop in inside}
    total = 0
    for unit, count in nest.work.items():
        for names, operations in nest.shares.get(unit, {frozenset(every): count}).items():
            copies = prod(extent for name, extent in every.items() if name in names)
            total += operations * copies * units.cost(unit).dsp
    return total


def steps_of_rows(
    kernel: Kernel,
    loops: dict[int, int],
    interval: int = 1,
    *,
    trees: bool,
    dataflow: bool,
    work: Mapping[int, int] | None = None,
    intervals: Mapping[int, int] | None = None,
) -> list[Step]:
    """Pipelines around these loops, by nest and place in its chain; none where that is nothing new.

    Args:
        interval: of the nest with the most work; the others have their share of it.
        trees: whether sums of floats may be added up in another order.
        dataflow: whether tasks run at the same time.
        work: of each nest, by default operations of units.
        intervals: of each nest, where they are not to be shares.
    """
    pipelines = steps_of_loops(kernel, loops, interval)
    work = work or {number: units_of(kernel, number, place) for number, place in loops.items()}
    most = max([1, *work.values()])
    steps = []
    for step in pipelines:
        if step.primitive == "pipeline" and step.nest is not None:
            own = ceil(interval * work.get(step.nest, most) / most)
            own = own if intervals is None else intervals[step.nest]
            step = replace(step, options=(("initiation_interval", own),) if own > 1 else ())
        steps.append(step)
    if steps:
        turned = _turned(kernel, loops) if trees else ()
        steps = [*turned, *steps, *_between(kernel), *_trees(kernel, loops, trees)]
        if dataflow and not kernel.together:
            steps.append(Step("dataflow", (kernel.top,)))
    return steps


def _between(kernel: Kernel) -> Iterator[Step]:
    """Vectors from one nest to the next in registers, so that they are filled in a cycle."""
    for _, array in sorted(kernel.arrays.items()):
        free = array.local and not array.obstacle and not array.banked
        if free and len(array.shape) == 1 and 1 < array.shape[0] <= WHOLE:
            yield Step("partition", (array.handle, Partition.Complete, 1))


def _inside(kernel: Kernel, loops: dict[int, int]) -> Iterator[tuple[Nest, list[str]]]:
    """The nests of the pipelines with their loops inside these, outermost first."""
    for nest in kernel.nests:
        around = (nest.number, *kernel.around(nest))
        place = next((loops[number] for number in around if number in loops), None)
        if place is not None:
            chain = nest.chain[place + 1 :] if nest.number in loops else nest.chain
            yield nest, [loop.name for loop in chain]


def _turned(kernel: Kernel, loops: dict[int, int]) -> Iterator[Step]:
    """Loops of sums go inside the others, so that each sum can be a tree."""
    for nest, names in _inside(kernel, loops):
        summed = {name for each in nest.sums for name in each.over}
        wanted = sorted(names, key=lambda name: name in summed)
        if wanted != names:
            yield Step("reorder", tuple(_handle(nest, name) for name in wanted), nest=nest.number)


def _trees(kernel: Kernel, loops: dict[int, int], trees: bool) -> Iterator[Step]:
    """Trees for the sums of loops inside the pipelines."""
    for nest, names in _inside(kernel, loops):
        for name in names:
            sums = [each for each in nest.sums if name in each.over]
            if sums and (trees or not any(each.rounded for each in sums)):
                yield Step("rebalance", (_handle(nest, name),), nest=nest.number)


def _handle(nest: Nest, loop: str) -> LoopWrapper:
    return LoopWrapper(nest.function, nest.band, loop)


__all__ = ["steps_of_rows", "try_rows"]
