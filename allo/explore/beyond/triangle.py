"""Triangles whose iterations wait for each other: the sum's loop goes outside, over rows that do not wait.

``for i: for j: for k in range(i + 1, M): B[i, j] += A[k, i] * B[k, j]`` adds up one element after the other.
With k outside, and its bound in i's place, each row i takes a term, and no two of these wait for each other.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from allo.dialects.core.partition import Partition
from allo.schedule.handles import LoopWrapper

from ..apply import Step, accepted
from ..budget import excess
from ..model.kernel import Kernel, Nest, Subscript
from .builder import Builder
from .hoist import WHOLE

FACTORS = (1, 2, 4, 8)
"""Rows at once."""


def try_triangles(search: Builder, until: float) -> None:
    """Each triangle of a kernel with more rows at once, until a design is too large or no faster."""
    for nest in triangles(search.kernel):
        best: int | None = None
        for factor in FACTORS:
            left = until * search.asked.seconds - search.elapsed
            trial, kept = accepted(search.given, steps_of_triangle(search.kernel, nest, factor))
            if left <= 0 or not any(step.primitive == "reorder" for step in kept):
                break
            built = search.keep(kept, None, trial, left)
            if built is None or excess(search.asked.limits, built.report):
                break
            if best is not None and built.cycles >= best:
                break
            best = built.cycles


def triangles(kernel: Kernel) -> Iterator[Nest]:
    """Nests in which the last loop is bounded by the first one, and whose iterations wait for each other."""
    for nest in kernel.leaves():
        if nest.obstacle or not nest.serial or len(nest.chain) < 2:
            continue
        last, first = nest.chain[-1], nest.chain[0]
        middle = nest.chain[1:-1]
        turns = last.over is not None and last.over[0] == first.name
        if turns and _is_short(nest, 1, -1) and all(loop.constant for loop in middle):
            yield nest


def _is_short(nest: Nest, begin: int, end: int | None) -> bool:
    return prod(loop.extent or WHOLE for loop in nest.chain[begin:end]) <= WHOLE


def steps_of_triangle(kernel: Kernel, nest: Nest, factor: int) -> list[Step]:
    """The triangle turned, so many rows at once; a short last loop of other nests is taken at once."""
    first, *middle, last = (_handle(nest, loop.name) for loop in nest.chain)
    steps = [Step("reorder", (last, first, *middle), nest=nest.number)]
    if factor > 1:
        steps.append(Step("unroll", (first,), (("factor", factor),), nest=nest.number))
    steps.append(Step("pipeline", (first,), (("rewind", True),), nest=nest.number))
    inside = {nest.number: {loop.name for loop in nest.chain[1:-1]}}
    for other in kernel.leaves():
        if other.number == nest.number or other.fixed or not other.chain:
            continue
        whole = len(other.chain) > 1 and other.chain[-1].constant and _is_short(other, -1, None)
        place = -2 if whole else -1
        steps.append(
            Step("pipeline", (_handle(other, other.chain[place].name),), nest=other.number)
        )
        inside[other.number] = {other.chain[-1].name} if whole else set()
    return [*steps, *_banks(kernel, nest, factor, inside)]


def _banks(kernel: Kernel, nest: Nest, factor: int, inside: dict[int, set[str]]) -> Iterator[Step]:
    """All elements along what is taken at once, and as many banks of rows as are."""
    found: dict[tuple[str, int], int] = {}
    for number, names in inside.items():
        rows = nest.chain[0].name if number == nest.number else ""
        for access in kernel.nests[number].accesses:
            array = kernel.arrays.get(access.array)
            for dim, subscript in enumerate(access.subscripts if array else ()):
                key = access.array, dim
                extent = array.shape[dim] if array else 1
                found[key] = max(found.get(key, 1), _count(subscript, names, rows, factor, extent))
    for (name, dim), count in sorted(found.items()):
        array = kernel.arrays[name]
        if count > 1 and not array.obstacle and not array.banked:
            yield Step("partition", (array.handle, Partition.Cyclic, dim + 1, count))


def _count(
    subscript: Subscript | None, names: set[str], rows: str, factor: int, extent: int
) -> int:
    if subscript is None or not subscript.terms:
        return 1
    used = set(subscript.terms)
    if used <= names:
        return min(extent, WHOLE)
    return min(factor, extent) if rows in used else 1


def _handle(nest: Nest, loop: str) -> LoopWrapper:
    return LoopWrapper(nest.function, nest.band, loop)
