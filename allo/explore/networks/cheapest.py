"""One row of each table, together within limits, that take the least: a small integer program for CP-SAT."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from allo.backend.rtl.plan.exact.cp_sat import cp_sat

WORK = 10.0
"""What the solution may take in the solver's own measure of work, about seconds of a processor."""
SCALE = 1_000_000
"""What all there is of a resource counts in the sum that is made least."""


type Demand = Callable[[Any, list[list[Any]]], Any]
"""Adds conditions to a model, of a variable for each row of each table; what is made least, or None."""


def cheapest(
    tables: Sequence[Sequence[Mapping[str, int]]],
    limits: Mapping[str, int],
    demand: Demand | None = None,
) -> list[int] | None:
    """The row of each table, so that the shares of what there is add up to the least.

    Args:
        tables: rows of what each choice takes, by resource.
        limits: what there is of each resource.
        demand: what else the rows shall meet; an expression that it returns is made least instead.

    Returns:
        The number of the row in each table; None where no rows are within the limits together.
    """
    model = cp_sat.CpModel()
    chosen = []
    for number, rows in enumerate(tables):
        mine = [model.new_bool_var(f"t{number}r{row}") for row in range(len(rows))]
        model.add_exactly_one(mine)
        chosen.append(mine)
    pairs = [
        (variable, row)
        for mine, rows in zip(chosen, tables, strict=True)
        for variable, row in zip(mine, rows, strict=True)
    ]
    for kind, most in limits.items():
        model.add(sum(row[kind] * variable for variable, row in pairs) <= most)
    aim = demand(model, chosen) if demand else None
    shares = sum(
        sum(row[kind] * SCALE // max(most, 1) for kind, most in limits.items()) * variable
        for variable, row in pairs
    )
    model.minimize(shares if aim is None else aim)
    solver = cp_sat.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.max_deterministic_time = WORK
    if solver.solve(model) not in (cp_sat.OPTIMAL, cp_sat.FEASIBLE):
        return None
    return [next(k for k, v in enumerate(mine) if solver.value(v)) for mine in chosen]
