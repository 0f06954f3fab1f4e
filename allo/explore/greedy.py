"""A first choice that is found without a solver, so that rows which cannot be part of a better one go."""

from __future__ import annotations

from collections.abc import Mapping
from math import lcm, prod

from .model.kernel import Dimension, Kernel, Unit, banks_of
from .model.rows import Limits, Row, Space
from .model.units import Units

AREA, TABLES = 0.03, 1_000_000
"""What all lookup tables of a device count beside the cycles; how many these are where no limit is known."""
OF_BANK = 40
"""Lookup tables of a bank, before any is measured."""
MORE = 4
"""Banks of an array, at most so many times those that one nest needs."""
FIRST, SCANNED = 80, 4000
"""Rows of the longest nest that are tried, and rows of each other nest that are looked at for each."""


def choosing(kernel: Kernel, space: Space, *, inner: bool = False) -> list[int]:
    """The nests for which a row is chosen: the outermost that have rows, or the innermost."""
    rows = space.rows
    inside = {n for nest in kernel.nests if nest.number in rows for n in kernel.around(nest)}
    return [
        nest.number
        for nest in kernel.nests
        if nest.number in rows
        and (
            nest.number not in inside if inner else not any(n in rows for n in kernel.around(nest))
        )
    ]


def least_cycles(kernel: Kernel, space: Space) -> dict[int, int]:
    """The fewest cycles of each nest in a whole run, by its own rows or by those of the nests inside."""
    least: dict[int, int] = {}
    for nest in reversed(kernel.nests):
        inside = [least.get(child, 0) for child in nest.children]
        rows = space.rows.get(nest.number)
        own = [nest.entries * min(row.cycles for row in rows)] if rows else []
        least[nest.number] = min([*own, *([sum(inside)] if inside else [])], default=0)
    return least


def least_of_pipelines(kernel: Kernel) -> int:
    """Cycles that no design with nothing but pipelines of the innermost loops is below: one an iteration."""
    known = (
        prod(loop.extent or 0 for loop in nest.chain)
        for nest in kernel.nests
        if nest.chain and not nest.children and not nest.fixed
        if all(loop.constant for loop in nest.chain)
    )
    return max(known, default=0)


def work_bound(kernel: Kernel, units: Units, limits: Limits) -> int:
    """Cycles in which the multiplier blocks of the limit do the work of all nests, however it is arranged."""
    if not limits.dsp:
        return 0
    blocks = 0.0
    for nest in kernel.leaves():
        points = float(nest.entries)
        for loop in nest.chain:
            points *= (loop.extent or 1) / (1 if loop.constant else 2)
        for unit in nest.work:
            blocks += points * nest.own(unit) * units.cost(unit).dsp
    return int(blocks / limits.dsp)


def first_choice(
    kernel: Kernel,
    space: Space,
    units: Units,
    limits: Limits,
    of_bank: float = 2.0,
    *,
    inner: bool = False,
) -> dict[int, Row] | None:
    """A row for each nest that fit together, nests one after the other; None where none is found.

    Args:
        of_bank: blocks of memory that a bank of a local array takes.
        inner: whether rows of the innermost nests are taken, where nests around them have some, too.
    """
    local = frozenset(name for name, array in kernel.arrays.items() if array.local)
    most = None if limits.bram is None else int(limits.bram / max(of_bank, 1e-3))
    nests = choosing(kernel, space, inner=inner)
    least = {n: kernel.nests[n].entries * min(row.cycles for row in space.rows[n]) for n in nests}
    ranked = sorted(nests, key=lambda n: -least[n])
    if not ranked:
        return None
    whole = sum(least[n] for n in ranked)
    rows = {}
    for n in nests:
        entries = kernel.nests[n].entries
        cost = [
            (
                row.cycles * entries + AREA * whole * _tables(row, units) / (limits.lut or TABLES),
                place,
            )
            for place, row in enumerate(space.rows[n])
            if limits.lut is None or _tables(row, units) <= limits.lut
        ]
        rows[n] = [space.rows[n][place] for _, place in sorted(cost)]
    best: dict[int, Row] | None = None
    fewest = float("inf")
    for first in rows[ranked[0]][:FIRST]:
        found = _completed(first, ranked, rows, units, limits, local, most)
        if found is None:
            continue
        cycles = sum(row.cycles * kernel.nests[n].entries for n, row in found.items())
        tables = max(_tables(row, units) for row in found.values())
        cost_of_all = cycles + AREA * whole * tables / (limits.lut or TABLES)
        if cost_of_all < fewest:
            best, fewest = found, cost_of_all
    return best


def _tables(row: Row, units: Units) -> int:
    """Lookup tables of a row: of its units, and beside them."""
    banks = banks_of(row.needs, {array for array, _ in row.needs})
    own = sum(units.cost(unit).lut * count for unit, count in row.units.items())
    return own + row.beside + OF_BANK * banks


def _completed(
    first: Row,
    ranked: list[int],
    rows: Mapping[int, list[Row]],
    units: Units,
    limits: Limits,
    local: frozenset[str],
    most: int | None,
) -> dict[int, Row] | None:
    """The best row of each other nest, one after the other, that goes with those before it."""
    chosen = {ranked[0]: first}
    banks = dict(first.needs)
    taken = dict(first.units)
    if not _within(taken, units, limits) or not _few(banks, local, most):
        return None
    for number in ranked[1:]:
        for row in rows[number][:SCANNED]:
            together = {u: max(taken.get(u, 0), row.units.get(u, 0)) for u in {*taken, *row.units}}
            if not _agree(dict(row.needs), banks) or not _within(together, units, limits):
                continue
            joint = banks | {d: lcm(f, banks.get(d, 1)) for d, f in row.needs.items()}
            if _few(joint, local, most):
                chosen[number], banks, taken = row, joint, together
                break
        else:
            return None
    return chosen


def _agree(needs: dict[Dimension, int], banks: dict[Dimension, int]) -> bool:
    if not all(lcm(f, banks[d]) == max(f, banks[d]) for d, f in needs.items() if d in banks):
        return False
    return all(
        banks_of(banks | needs, [array])
        <= MORE * max(banks_of(needs, [array]), banks_of(banks, [array]))
        for array in {dimension[0] for dimension in needs}
    )


def _few(banks: dict[Dimension, int], local: frozenset[str], most: int | None) -> bool:
    """Whether the banks of local arrays are at most so many."""
    return most is None or banks_of(banks, local) <= most + len(local)


def _within(taken: Mapping[Unit, int], units: Units, limits: Limits) -> bool:
    for what, limit in (("dsp", limits.dsp), ("lut", limits.lut)):
        total = sum(getattr(units.cost(unit), what) * count for unit, count in taken.items())
        if limit is not None and total > limit:
            return False
    return True


def reduced(kernel: Kernel, space: Space, below: int, *, together: bool = False) -> Space:
    """The space without rows with which a run takes ``below`` cycles or more, whatever the others are.

    Args:
        together: whether tasks run at the same time, so that their cycles do not add up.
    """
    least = least_cycles(kernel, space)
    nests = choosing(kernel, space)
    whole = sum(least[n] for n in nests)
    kept: dict[int, list[Row]] = {}
    for number, rows in space.rows.items():
        entries = kernel.nests[number].entries
        outermost = next(n for n in (*kernel.around(kernel.nests[number]), number) if n in nests)
        others = 0 if together else whole - least[outermost]
        fitting = [row for row in rows if entries * row.cycles + others < below]
        if fitting:
            kept[number] = fitting
    return Space(kept, space.units, space.looked_at)


def is_whole(kernel: Kernel, space: Space, part: Space) -> bool:
    """Whether each innermost nest that has rows of a space, or stands in one that has, has some in a part."""
    for nest in kernel.leaves():
        numbers = (nest.number, *kernel.around(nest))
        had, has = (any(n in found.rows for n in numbers) for found in (space, part))
        if had and not has:
            return False
    return True
