"""Columns of a triangle: the loop that no bound depends on goes outside; iterations then have the same work.

``for i: for j: for k in range(i + 1, M): B[i, j] += A[k, i] * B[k, j]`` has long rows i and short ones, and
a pipeline over them has the units of the longest. With j outside, an iteration is a whole triangle of one
column, whose products and additions follow each other through the units without a gap.

The rows may be cut before that: the first rows leave while the columns of the last ones are computed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import combinations, pairwise
from math import ceil, prod

from ..apply import Step, accepted
from ..model.kernel import Kernel, Loop, Nest, Unit
from ..model.read import read_kernel
from .builder import Builder
from .hoist import hoisted
from .lanes import with_lanes
from .merged import has_triangle, merged, outermost, roots
from .pieces import steps_of_cuts
from .rows import SHARED, keep_or_excess, steps_of_rows

PIECES = 2, 1, 3
"""Into how many pieces rows are cut, in the order in which they are tried."""
TRIES = 3
"""How many intervals of one are tried."""
BITS = 352
"""What a copy should take in a step: columns need all rows, so that nothing is computed meanwhile."""
FINE = 60
"""Places at which rows may be cut, in one piece; in more there are fewer."""
MOST = 1 << 14
"""Iterations inside a column that are counted one by one, at most."""


def try_columns(search: Builder) -> None:
    """Columns of the triangles of a kernel, with the rows in one piece and more."""
    limit = search.asked.limits.dsp
    if not limit or not has_triangle(search.kernel) or any(n.fixed for n in search.kernel.nests):
        return
    whole, before = merged(search.given, search.kernel)
    for pieces in PIECES:
        cuts = _cuts(search, whole, pieces, limit)
        if cuts is None:
            continue
        trial, kept = accepted(search.given, [*before, *cuts])
        sinks = [Step("sink", (outermost(nest),)) for nest in roots(read_kernel(trial))]
        trial, kept = accepted(search.given, [*kept, *sinks])
        if sum(step.primitive == "sink" for step in kept) < len(sinks):
            return
        _build(search, read_kernel(trial), kept, limit)


def _build(search: Builder, kernel: Kernel, before: list[Step], limit: int) -> None:
    """Pipelines over columns in the fewest cycles that the multiplier blocks allow, or in more."""
    loops = next(hoisted(kernel, SHARED))
    blocks = {n: blocks_inside(search, kernel, n, place, {}) for n, place in loops.items()}
    for more in range(TRIES):
        steps = steps_of_rows(
            kernel,
            loops,
            trees=search.asked.reassociate,
            dataflow=False,
            intervals={n: ceil(taken / limit) + more for n, taken in blocks.items()},
        )
        if keep_or_excess(search, [*before, *with_lanes(kernel, steps, BITS)]) is None:
            return


def _cuts(search: Builder, kernel: Kernel, pieces: int, limit: int) -> list[Step] | None:
    """The rows of each nest in so many pieces, in the fewest cycles; None where they cannot be cut.

    Of several such places it is the last one, as what is computed last cannot leave meanwhile. Where
    iterations store to rows of others, no row is complete before the end: the longest piece is to be short.
    """
    steps: list[Step] = []
    for nest in roots(kernel) if pieces > 1 else ():
        rows = nest.chain[0]
        if not rows.constant or (rows.extent or 0) < pieces:
            return None
        most = limit * _columns(kernel, nest)
        each = range(rows.low, rows.low + (rows.extent or 0))
        work = [blocks_inside(search, kernel, nest.number, 0, {rows.name: at}) for at in each]

        def cycles(low: int, high: int, work: list[int] = work, most: int = most) -> int:
            return ceil(sum(work[low:high]) / most)

        places = _places(len(work), pieces)
        found = {pair: cycles(*pair) for pair in combinations(places, 2)}
        scattered = _stores_elsewhere(kernel, nest)
        best = min(
            combinations(places[1:-1], pieces - 1),
            key=lambda at: _rank([found[p] for p in pairwise((0, *at, places[-1]))], at, scattered),
        )
        steps += steps_of_cuts(nest, 0, [rows.low + at for at in best])
    return steps


def _rank(cycles: list[int], at: tuple[int, ...], scattered: bool) -> tuple[int, int, list[int]]:
    return sum(cycles), max(cycles) if scattered else 0, [-place for place in at]


def _stores_elsewhere(kernel: Kernel, nest: Nest) -> bool:
    """Whether an iteration of the outermost loop stores to elements that are not of its own row."""
    rows = nest.chain[0].name
    inside = [n for n in kernel.nests if nest.number in (n.number, *kernel.around(n))]
    return any(
        access.writes and not any(at and rows in at.terms for at in access.subscripts)
        for each in inside
        for access in each.accesses
        if access.array in kernel.arrays and not kernel.arrays[access.array].local
    )


def _places(rows: int, pieces: int) -> list[int]:
    """Where rows begin and end, and may be cut."""
    parts = min(rows, FINE // pieces)
    return sorted({rows * n // parts for n in range(parts + 1)})


def _columns(kernel: Kernel, nest: Nest) -> int:
    """The iterations of the loops that would go outside."""
    if len(nest.chain) > 1:
        return nest.chain[1].extent or 1
    return max([1, *(kernel.nests[n].chain[0].extent or 1 for n in nest.children)])


def blocks_inside(
    search: Builder, kernel: Kernel, number: int, place: int, values: Mapping[str, int]
) -> int:
    """Multiplier blocks of all that one iteration of a loop does, each iteration inside counted once."""
    found = operations(kernel, number, place, values)
    return sum(count * search.units.cost(unit).dsp for unit, count in found.items())


def operations(kernel: Kernel, number: int, place: int, values: Mapping[str, int]) -> Counter[Unit]:
    """Operations inside a loop of a nest, with the iterations that a triangle has."""
    nest = kernel.nests[number]
    loops = nest.chain[place + 1 :]
    if prod(loop.extent or 1 for loop in loops) > MOST:
        return Counter({unit: MOST * count for unit, count in nest.work.items()})
    every = list(_iterations(loops, values))
    if not nest.children:
        return _of_leaf(nest, [loop.name for loop in loops], every)
    own = Counter(nest.work)
    for child in nest.children:
        inside = kernel.nests[child]
        box = _iterations([_square(loop) for loop in inside.chain], values)
        own.subtract(_of_leaf(inside, [loop.name for loop in inside.chain], list(box)))
    found: Counter[Unit] = Counter()
    for at in every:
        found.update({unit: max(0, count) for unit, count in own.items()})
        for child in nest.children:
            found.update(operations(kernel, child, -1, at))
    return found


def _of_leaf(nest: Nest, names: list[str], every: list[dict[str, int]]) -> Counter[Unit]:
    """Operations of a nest in these iterations; those of one share that no loop decides on."""
    found: Counter[Unit] = Counter()
    for unit, count in nest.work.items():
        for deciding, each in nest.shares.get(unit, {frozenset(names): count}).items():
            used = [name for name in names if name in deciding]
            found[unit] += each * len({tuple(at[name] for name in used) for at in every})
    return found


def _square(loop: Loop) -> Loop:
    return Loop(loop.name, loop.extent, loop.low, constant=True)


def _iterations(loops: list[Loop], values: Mapping[str, int]) -> Iterator[dict[str, int]]:
    """The counters of the loops in each iteration, with those of the loops around them."""
    if not loops:
        yield dict(values)
        return
    loop = loops[0]
    low, high = loop.low, loop.low + (loop.extent or 1)
    if loop.over is not None and loop.over[0] in values:
        at = values[loop.over[0]]
        low, high = (factor * at + constant for factor, constant in loop.over[1:])
    for value in range(low, high):
        yield from _iterations(loops[1:], {**values, loop.name: value})


__all__ = ["blocks_inside", "operations", "try_columns"]
