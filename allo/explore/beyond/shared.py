"""Rows that several nests read: these become one, so that each row is fetched once, and used as it comes.

bicg makes ``s += A[i] * r[i]`` and ``q[i] = A[i] @ p``, atax the same with the sum as factor. In two nests,
A is copied whole, and both read it there. In one, an iteration takes a row, or as many as an addition takes
intervals.
"""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from math import ceil

from allo.schedule.handles import LoopWrapper

from ..apply import Step, accepted
from ..model.kernel import Access, Kernel, Nest
from ..model.read import read_kernel
from ..model.units import Units
from .builder import Builder
from .lanes import with_lanes
from .merged import has_triangle, outermost, roots
from .rows import blocks_of, keep_or_excess, steps_of_rows

TRIES = 3
"""How many intervals are tried."""
FAR = 4
"""Times the cycles of its intervals, above which a design takes no other one."""


def try_shared(search: Builder) -> None:
    """One nest of those that read the rows of one matrix; nothing where there are none."""
    given, limit = search.given, search.asked.limits.dsp
    if not limit or has_triangle(search.kernel) or any(n.fixed for n in search.kernel.nests):
        return
    others = dict.fromkeys(n.function for n in search.kernel.nests)
    others.pop(search.kernel.top, None)
    trial, absorbed = accepted(given, [Step("absorb", (name,)) for name in others])
    kernel = read_kernel(trial)
    nests = readers(kernel)
    if len(nests) < 2 or len(roots(kernel)) < len([n for n in kernel.nests if n.parent is None]):
        return
    rows = rows_at_once(kernel, search.units, nests, limit)
    plain, marked = (
        [*absorbed, *steps_of_merging(kernel, nests, rows, trees=trees)]
        for trees in (False, search.asked.reassociate)
    )
    trial, kept = accepted(given, plain)
    merged = read_kernel(trial)
    wanted = {nest.band for nest in nests[:-1]}
    if len(kept) < len(plain) or any(nest.band in wanted for nest in roots(merged)):
        return
    _build(search, merged, nests[-1].band, marked, limit)


def _build(search: Builder, kernel: Kernel, band: str, before: list[Step], limit: int) -> None:
    """A pipeline over the rows in the fewest cycles that the multiplier blocks allow, or in more."""
    loops = {nest.number: 0 for nest in roots(kernel)}
    whole = next(nest for nest in roots(kernel) if nest.band == band)
    own = {n: blocks_inside(kernel, search.units, n) for n in loops}
    for more in range(TRIES):
        intervals = {n: max(1, ceil(taken / limit)) for n, taken in own.items()}
        intervals[whole.number] += more
        steps = steps_of_rows(kernel, loops, trees=False, dataflow=False, intervals=intervals)
        built = keep_or_excess(search, [*before, *with_lanes(kernel, steps)])
        if built is None:
            return
        rows = {n: kernel.nests[n].chain[0].extent or 1 for n in loops}
        if built.cycles > FAR * sum(rows[n] * interval for n, interval in intervals.items()):
            return  # a loop is no pipeline, as it would wait for words inside


def blocks_inside(kernel: Kernel, units: Units, number: int) -> int:
    """Multiplier blocks of what one iteration of the outermost loop of a nest does in one cycle."""
    nest = kernel.nests[number]
    if not nest.children:
        return blocks_of(kernel, units, number, 0)
    return sum(blocks_of(kernel, units, child, -1) for child in nest.children)


def readers(kernel: Kernel) -> list[Nest]:
    """The nests of two loops that read the rows of one array outside, that of the most of them."""
    found: Counter[tuple[str, int | None]] = Counter()
    read = {nest.number: _rows_of(kernel, nest) for nest in roots(kernel)}
    for keys in read.values():
        found.update(keys)
    if not found:
        return []
    best = max(sorted(found, key=str), key=lambda key: found[key])
    return [nest for nest in roots(kernel) if best in read[nest.number]]


def _rows_of(kernel: Kernel, nest: Nest) -> set[tuple[str, int | None]]:
    """The arrays outside of which an iteration of the first of two loops reads a row, and their rows."""
    loops = [loop.name for loop in nest.chain]
    if nest.children or nest.obstacle or len(loops) != 2 or not all(x.constant for x in nest.chain):
        return set()

    def is_row(access: Access) -> bool:
        terms = [at and dict(at.terms) for at in access.subscripts]
        return not access.writes and terms == [{name: 1} for name in loops]

    return {
        (access.array, nest.chain[0].extent)
        for access in nest.accesses
        if is_row(access)
        and access.array in kernel.arrays
        and not kernel.arrays[access.array].local
    }


def rows_at_once(kernel: Kernel, units: Units, nests: list[Nest], limit: int) -> int:
    """The fewest rows an iteration takes so that sums over rows are ready for the next one."""
    extent = nests[0].chain[0].extent or 1
    interval = ceil(sum(blocks_of(kernel, units, nest.number, 0) for nest in nests) / limit)
    over = [each for nest in nests for each in nest.sums if nest.chain[0].name in each.over]
    latency = max((units.cost(each.unit).latency for each in over), default=1)
    fits = [n for n in range(1, extent + 1) if extent % n == 0 and n * interval >= latency]
    return fits[0] if fits else 1


def steps_of_merging(kernel: Kernel, nests: list[Nest], rows: int, *, trees: bool) -> list[Step]:
    """The nests in the last one of them, so many rows at once.

    Args:
        trees: whether sums inside an iteration become trees, whose loops are marked.
    """
    steps: list[Step] = []
    for first, second in pairwise(roots(kernel)):
        same = first.chain[0].extent == second.chain[0].extent
        if len(first.chain) == 1 and second in nests and same:
            steps.append(Step("compute_at", (outermost(first), outermost(second))))
    outer, inner = (".outer", ".inner") if rows > 1 else ("", "")
    for nest in nests:
        row, column = (LoopWrapper(nest.function, nest.band, loop.name) for loop in nest.chain)
        if rows > 1:
            steps.append(Step("split", (row, rows)))
        inside = [_named(nest, f"{nest.chain[0].name}{inner}")] if rows > 1 else []
        over = {name for each in nest.sums for name in each.over}
        down = nest.chain[0].name in over
        if down and inside:
            steps.append(Step("reorder", (column, *inside)))
        if trees:
            steps += [Step("unroll", (loop,)) for loop in (column, *inside)]
            summed = inside if down else [column]
            steps += [Step("rebalance", (loop,)) for loop in summed]
    for first, second in pairwise(nests):
        ends = [_named(nest, f"{nest.chain[0].name}{outer}") for nest in (first, second)]
        steps.append(Step("compute_at", tuple(ends)))
    return steps


def _named(nest: Nest, name: str) -> LoopWrapper:
    return LoopWrapper(nest.function, nest.band, name)


__all__ = ["readers", "rows_at_once", "steps_of_merging", "try_shared"]
