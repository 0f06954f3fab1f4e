"""A choice for a network: the limits divided between operations, then cycles balanced between layers."""

from __future__ import annotations

import time
from collections.abc import Iterable

from ..greedy import choosing, first_choice
from ..model.blocks import Blocks
from ..model.kernel import Kernel
from ..model.rows import Limits
from ..solve import Choice, Corrections, Problem, choice_of
from .balance import balanced
from .tables import divided

BALANCED = "no other balance of its layers takes fewer cycles by the model"
"""How the search of a kernel of many nests ends."""
FEW = 4
"""Nests for which CP-SAT chooses rows and banks together."""
SECONDS = 10.0
"""Of the solver, for the tables of all layers, at most."""
LEAST = 5.0
"""Seconds of processor time for a balance of layers, however little time is left."""
NOTHING = 1 << 60
"""Cycles to stay below where no design fits yet."""
TIGHTER, CLOSER = 4, 1.05
"""How often lookup tables are made fewer, where no design fits and the same one is chosen again; by what."""
SMALLER = 1.02
"""By how much lookup tables are made fewer than a report of a design says that was too large."""


def has_many(problem: Problem) -> bool:
    """Whether a problem has too many nests for one solution of rows and banks together."""
    if problem.objective == "area" or problem.kernel.together:
        return False
    return len(choosing(problem.kernel, problem.space)) > FEW


def choice_of_layers(
    problem: Problem, corrections: Corrections, below: int, seconds: float
) -> tuple[Choice | None, int]:
    """A new choice for a network that takes fewer cycles than ``below`` by the model; and the bound.

    Args:
        below: ``NOTHING`` where no design fits the limits yet.
        seconds: of processor time that the balance may take, and ``LEAST`` however few they are.
    """
    made = {known.key for known in corrections.done}
    if made and below >= NOTHING:
        corrections.lut *= SMALLER
    for _ in range(TIGHTER):
        division = divided(problem, corrections, SECONDS)
        bound = 0 if division is None else division.bound
        rows = balanced(
            problem.kernel,
            problem.space,
            problem.units,
            corrections.scaled(problem.limits),
            blocks=Blocks(problem.units.device),
            ratio=corrections.blocks,
            pool=None if division is None else division.pool,
            until=time.process_time() + max(LEAST, seconds),
            bound=bound,
        )
        if rows is None:
            break
        choice = choice_of(problem.kernel, problem.units, rows, 0)
        if choice.key not in made:
            return (choice if choice.cycles < below else None), bound
        if below < NOTHING:
            break
        most = (problem.limits.lut or 0) / max(1, choice.lut)  # at which it just fits
        corrections.lut = CLOSER * max(corrections.lut, most)
    return None, bound


def greedy_choices(
    problem: Problem, corrections: Corrections, variants: Iterable[bool]
) -> list[Choice]:
    """Choices for a few nests that are found without the solver, within the limits as corrected.

    Args:
        variants: whether the tasks of the top function run at the same time, for each try.
    """
    kernel, scaled = problem.kernel, corrections.scaled(problem.limits)
    found = []
    for dataflow in variants:
        share = _at_once(kernel) if dataflow else 1
        part = Limits(*(m and m // share for m in (scaled.dsp, scaled.lut, scaled.bram)))
        for inner in (False, True):
            rows = first_choice(
                kernel, problem.space, problem.units, part, corrections.bram, inner=inner
            )
            if rows is not None:
                found.append(choice_of(kernel, problem.units, rows, share if dataflow else 0))
    return sorted(found, key=lambda choice: choice.cycles)


def _at_once(kernel: Kernel) -> int:
    """Tasks of the top function that may run at the same time, by the tasks that wait for no other."""
    waiting = {after for _, after in kernel.waits}
    return max(1, len(kernel.tasks) - len(waiting))
