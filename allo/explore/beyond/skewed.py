"""Wavefronts: nests whose iterations wait for neighbours in two loops, with one of these skewed.

An inner loop runs ahead of the one around it, so that the two may change places: the iterations of the loop
that is then innermost do not depend on each other, and follow each other at once (Lamport, "The parallel
execution of DO loops", 1974).
"""

from __future__ import annotations

from collections.abc import Iterator

from allo.dialects.core.partition import Partition
from allo.schedule.handles import LoopWrapper

from ..apply import Step
from ..model.kernel import Kernel, Nest

FACTORS = (1, 2, 3)
"""Iterations by which the inner loop runs ahead, in the order in which they are tried."""


def waiting(kernel: Kernel) -> Iterator[Nest]:
    """Perfect nests of constant bounds that read in one iteration what another one has stored."""
    for nest in kernel.leaves():
        pair = [loop for loop in nest.chain[-2:] if loop.constant and (loop.extent or 0) > 1]
        if nest.serial and not nest.obstacle and not nest.inner and len(pair) == 2:
            yield nest


def steps_of_front(nest: Nest, factor: int) -> list[Step]:
    """The two innermost loops as a wavefront, its elements in a pipeline."""
    outer, inner = (LoopWrapper(nest.function, nest.band, loop.name) for loop in nest.chain[-2:])
    return [
        Step("skew", (outer, inner, factor), nest=nest.number),
        Step("reorder", (inner, outer), nest=nest.number),
        Step("pipeline", (outer,), nest=nest.number),
    ]


def steps_of_windows(kernel: Kernel, nests: list[Nest]) -> list[Step]:
    """Banks for the neighbours that an iteration of these nests reads, in dimensions that are not skewed."""
    places: dict[tuple[str, int], set[int]] = {}
    for nest in nests:
        moved = nest.chain[-1].name
        for access in nest.accesses:
            for dim, subscript in enumerate(access.subscripts):
                if subscript is not None and subscript.terms and moved not in subscript.terms:
                    places.setdefault((access.array, dim), set()).add(subscript.constant)
    return [
        Step("partition", (array.handle, Partition.Cyclic, dim + 1, len(constants)))
        for (name, dim), constants in sorted(places.items())
        if (array := kernel.arrays[name]) and not array.obstacle and not array.banked
        if len(constants) > 1
    ]
