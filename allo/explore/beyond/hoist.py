"""Designs that the model does not know: a pipeline around whole inner loops, whose arrays lie in registers.

A body of several loops, calls and scalars is a pipeline of its own where all that is inside is unrolled, and
each array of it has a bank for each element that the loops inside tell apart.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from allo.dialects.core.partition import Partition
from allo.schedule.handles import LoopWrapper

from ..apply import Step, plain_steps
from ..model.kernel import WHILE, Kernel, Nest
from ..model.tiles import banks

COPIES = 1024
"""The most copies of innermost bodies in a pipeline."""
UNITS = 256
"""The most operations of units in a pipeline, such as float additions, each of which may have a unit."""
WHOLE = 64
"""Elements of a dimension that get a bank each, at most."""
LEVELS = 3
"""How many loops, outermost first, are tried around each innermost one."""


def hoisted(kernel: Kernel, units: int = UNITS) -> Iterator[dict[int, int]]:
    """Loops to pipeline, by nest and place in its chain: as far outside as copies allow, then further in.

    Args:
        units: the most operations of units in a pipeline.
    """
    seen: list[dict[int, int]] = []
    for inward in range(LEVELS):
        chosen: dict[int, int] = {}
        for leaf in kernel.leaves():
            found = _levels(kernel, leaf, units)
            number, place = found[min(inward, len(found) - 1)]
            chosen[number] = min(place, chosen.get(number, place))
        outermost = {
            number: place
            for number, place in chosen.items()
            if not any(outer in chosen for outer in kernel.around(kernel.nests[number]))
        }
        if outermost not in seen:
            seen.append(outermost)
            yield outermost


def _levels(kernel: Kernel, leaf: Nest, units: int) -> list[tuple[int, int]]:
    """The loops that may be pipelined around a leaf, outermost first: nest and place in its chain."""
    found = []
    for number in (leaf.number, *kernel.around(leaf)):
        nest = kernel.nests[number]
        for place in reversed(range(len(nest.chain))):
            found.append((number, place))
    kept = [at for at in found if _copies(kernel, *at) <= COPIES and units_of(kernel, *at) <= units]
    return kept[::-1] or [found[0]]


def _copies(kernel: Kernel, number: int, place: int) -> int:
    """Copies of the innermost bodies inside a loop, all unrolled; many where a loop has no known bounds."""
    nest = kernel.nests[number]
    inner = [loop.extent for loop in nest.chain[place + 1 :]]
    if nest.obstacle == WHILE or any(extent is None for extent in inner):
        return COPIES + 1
    own = prod(extent or 1 for extent in inner)
    inside = [_copies(kernel, child, -1) for child in nest.children]
    return own * max(1, sum(inside))


def units_of(kernel: Kernel, number: int, place: int) -> int:
    """Operations of units inside a loop, all unrolled."""
    nest = kernel.nests[number]
    own = prod(loop.extent or 1 for loop in nest.chain[place + 1 :])
    if not nest.children:
        return own * sum(nest.work.values())
    return own * sum(units_of(kernel, child, -1) for child in nest.children)


def steps_of_loops(kernel: Kernel, kept: dict[int, int], interval: int = 1) -> list[Step]:
    """Pipelines of these loops, and banks of what their bodies touch; none where that is nothing new."""
    steps = []
    outside: dict[str, set[str]] = {}
    for number, place in kept.items():
        nest = kernel.nests[number]
        if nest.fixed or nest.obstacle == WHILE:
            continue
        handle = LoopWrapper(nest.function, nest.band, nest.chain[place].name)
        options = (("initiation_interval", interval),) if interval > 1 else ()
        steps.append(Step("pipeline", (handle,), options, nest=number))
        names = {loop.name for loop in nest.chain[: place + 1]}
        for around in kernel.around(nest):
            names |= {loop.name for loop in kernel.nests[around].chain}
        outside.setdefault(nest.function, set()).update(names)
    plain = plain_steps(kernel)
    if all(step in plain for step in steps):
        return []
    return [*steps, *_banks(kernel, kept, outside)]


def _banks(kernel: Kernel, kept: dict[int, int], outside: dict[str, set[str]]) -> Iterator[Step]:
    """Banks for the elements that loops inside the pipelines tell apart, of each dimension of an array."""
    spread: dict[tuple[str, int], int] = {}
    for nest in kernel.nests:
        if not any(number in kept for number in (nest.number, *kernel.around(nest))):
            continue
        fixed = outside.get(nest.function, set())
        inside = {
            loop.name: loop.extent or 1
            for loop in (*nest.chain, *nest.inner)
            if loop.name not in fixed
        }
        for access in nest.accesses:
            array = kernel.arrays.get(access.array)
            for dim, subscript in enumerate(access.subscripts if array else ()):
                extent = array.shape[dim] if array else 1
                alone = subscript is None or set(subscript.terms) <= set(inside)
                count = extent if alone else banks(subscript, inside, extent)
                if count > 1 and (subscript is None or subscript.terms):
                    place = (access.array, dim)
                    spread[place] = max(count, spread.get(place, 1))
    for key, array in sorted(kernel.arrays.items()):
        if array.obstacle or array.banked:
            continue
        for dim, extent in enumerate(array.shape):
            count = spread.get((key, dim), 1)
            if count == extent and 1 < extent <= WHOLE:
                yield Step("partition", (array.handle, Partition.Complete, dim + 1))
            elif 1 < count <= WHOLE:
                yield Step("partition", (array.handle, Partition.Cyclic, dim + 1, count))
