"""A first choice that is found without a solver, so that rows which cannot be part of a better one go."""

from __future__ import annotations

from collections.abc import Mapping
from math import lcm, prod

from .model.kernel import Dimension, Kernel, Unit
from .model.rows import Limits, Row, Space
from .model.units import Units

MORE = 4
"""Banks of an array, at most so many times those that one nest needs."""
FIRST, SCANNED = 80, 4000
"""Rows of the longest nest that are tried, and rows of each other nest that are looked at for each."""


def choosing(kernel: Kernel, space: Space) -> list[int]:
    """The nests for which a row is chosen: the outermost that have rows."""
    found: list[int] = []
    for nest in kernel.nests:
        parent, hidden = nest.parent, False
        while parent is not None:
            hidden |= parent in space.rows
            parent = kernel.nests[parent].parent
        if nest.number in space.rows and not hidden:
            found.append(nest.number)
    return found


def least_cycles(kernel: Kernel, space: Space) -> dict[int, int]:
    """The fewest cycles of each nest in a whole run, whatever the others do."""
    return {
        number: kernel.nests[number].entries * min(row.cycles for row in rows)
        for number, rows in space.rows.items()
    }


def first_choice(
    kernel: Kernel, space: Space, units: Units, limits: Limits
) -> dict[int, Row] | None:
    """A row for each nest that fit together, nests one after the other; None where none is found."""
    nests = choosing(kernel, space)
    least = least_cycles(kernel, space)
    ranked = sorted(nests, key=lambda n: -least[n])
    rows = {n: sorted(space.rows[n], key=lambda r: (r.cycles, r.beside)) for n in nests}
    best: dict[int, Row] | None = None
    fewest = float("inf")
    if not ranked:
        return None
    others = sum(least[n] for n in ranked[1:])
    for first in rows[ranked[0]][:FIRST]:
        if first.cycles * kernel.nests[ranked[0]].entries + others >= fewest:
            break
        found = _completed(first, ranked, rows, units, limits)
        if found is None:
            continue
        cycles = sum(row.cycles * kernel.nests[n].entries for n, row in found.items())
        if cycles < fewest:
            best, fewest = found, cycles
    return best


def _completed(
    first: Row, ranked: list[int], rows: Mapping[int, list[Row]], units: Units, limits: Limits
) -> dict[int, Row] | None:
    """The best row of each other nest, one after the other, that goes with those before it."""
    chosen = {ranked[0]: first}
    banks = dict(first.needs)
    taken = dict(first.units)
    if not _within(taken, units, limits):
        return None
    for number in ranked[1:]:
        for row in rows[number][:SCANNED]:
            together = {u: max(taken.get(u, 0), row.units.get(u, 0)) for u in {*taken, *row.units}}
            if _agree(dict(row.needs), banks) and _within(together, units, limits):
                chosen[number] = row
                banks |= {d: lcm(f, banks.get(d, 1)) for d, f in row.needs.items()}
                taken = together
                break
        else:
            return None
    return chosen


def _agree(needs: dict[Dimension, int], banks: dict[Dimension, int]) -> bool:
    if not all(lcm(f, banks[d]) == max(f, banks[d]) for d, f in needs.items() if d in banks):
        return False
    return all(
        _count(banks | needs, array) <= MORE * max(_count(needs, array), _count(banks, array))
        for array in {dimension[0] for dimension in needs}
    )


def _count(banks: Mapping[Dimension, int], array: str) -> int:
    return prod(factor for dimension, factor in banks.items() if dimension[0] == array)


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
        others = 0 if together or number not in nests else whole - least[number]
        fitting = [row for row in rows if entries * row.cycles + others < below]
        if fitting or number in nests:
            kept[number] = fitting
    return Space(kept, space.units, space.looked_at)
