"""Tables of layers: cycles against units, without banks, for which CP-SAT proves the best together.

What is left out can only make a design take more cycles, so the answer is a bound of the model. And its units
of each operation are those among which the limits are best divided.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from ..greedy import choosing
from ..model.kernel import Unit
from ..model.rows import Row, Space
from ..solve import Corrections, Problem, Unsolved


@dataclass(frozen=True, slots=True)
class Division:
    """How the limits are divided best: units of each operation, and cycles that no choice is below."""

    pool: Mapping[Unit, int]
    bound: int


def divided(problem: Problem, corrections: Corrections, seconds: float) -> Division | None:
    """The units of each operation with which all layers together take the fewest cycles; None in no time."""
    names = problem.space.units
    rows = {
        n: _undominated(problem.space.rows[n], names)
        for n in choosing(problem.kernel, problem.space)
    }
    table = replace(problem, space=Space(rows, names, problem.space.looked_at))
    free = Corrections(corrections.lut, corrections.dsp, corrections.bram)
    try:
        found = table.solve(free, dataflow=False, seconds=seconds, small=False)
    except Unsolved:
        return None
    if found is None:
        return None
    pool: dict[Unit, int] = {}
    for row in found.rows.values():
        pool |= {unit: max(count, pool.get(unit, 0)) for unit, count in row.units.items()}
    return Division(pool, found.bound)


def _undominated(rows: list[Row], names: list[Unit]) -> list[Row]:
    """Rows that none takes fewer cycles than with as few units and lookup tables, without their banks."""
    best: dict[tuple[int, ...], Row] = {}
    for row in rows:
        key = tuple(row.units.get(unit, 0) for unit in names)
        if key not in best or row.cycles < best[key].cycles:
            best[key] = row
    keys = np.array(list(best))
    ordered = sorted(zip(best.values(), keys, strict=True), key=lambda item: item[0].cycles)
    kept: list[Row] = []
    taken = np.empty((0, len(names)), keys.dtype)
    for row, key in ordered:
        if not (taken <= key[None, :]).all(axis=1).any():
            kept.append(replace(row, needs={}, beside=0))
            taken = np.vstack([taken, key[None, :]])
    return kept
