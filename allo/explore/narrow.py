"""A problem without choices that were refused, or whose reports take too long."""

from __future__ import annotations

from dataclasses import replace
from math import prod

from .apply import StepFailed
from .model.kernel import Kernel
from .model.rows import Row, Space
from .solve import Choice, Problem

FEWER = 4
"""Where a report takes too long, designs of a nest have so many times fewer copies of its body."""


def without(problem: Problem, choice: Choice, failed: StepFailed) -> Problem:
    """The problem without what a primitive on a nest has refused."""
    step = failed.step
    if step.nest is None:
        return problem
    space = Space(dict(problem.space.rows), problem.space.units, problem.space.looked_at)
    bad = choice.rows.get(step.nest)
    if bad is not None:
        last = bad.order[-1]
        pattern = {n for n, f in bad.factors.items() if f > 1 and n != last}
        space.rows[step.nest] = [
            row
            for row in space.rows[step.nest]
            if row.key != bad.key
            and not (
                step.primitive in ("reorder", "split")
                and row.order == bad.order
                and pattern <= {n for n, f in row.factors.items() if f > 1}
            )
        ]
    if not space.rows.get(step.nest):
        space.rows.pop(step.nest, None)
    return replace(problem, space=space)


def refuse_banks(kernel: Kernel, failed: StepFailed) -> None:
    """Have the kernel know that an array cannot be partitioned."""
    handle = failed.step.arguments[0]
    for key, array in kernel.arrays.items():
        if array.handle == handle:
            kernel.arrays[key] = replace(array, obstacle=failed.reason)


def smaller(problem: Problem, choice: Choice) -> tuple[str, int, Problem]:
    """The problem without choices whose reports take nearly as long as that of this one.

    Returns:
        The name of the nest with the most copies of its body, how many these are, and the problem in which it
        has fewer.
    """
    space = Space(dict(problem.space.rows), problem.space.units, problem.space.looked_at)
    copies = {n: _copies(problem.kernel, row) for n, row in choice.rows.items()}
    worst = max(copies, key=lambda n: copies[n])
    most = copies[worst]
    space.rows[worst] = [
        r for r in space.rows[worst] if FEWER * _copies(problem.kernel, r) <= max(most, FEWER)
    ]
    if most <= FEWER:
        space.rows[worst] = []
    if not space.rows[worst]:
        space.rows.pop(worst)
    return problem.kernel.nests[worst].name, most, replace(problem, space=space)


def _copies(kernel: Kernel, row: Row) -> int:
    """Copies of the body that a row has side by side."""
    return prod(row.factors.values()) * kernel.nests[row.nest].copies
