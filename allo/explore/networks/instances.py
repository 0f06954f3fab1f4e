"""Rolled or spatial: whether the calls of a function share it, or have one each.

A rolled function has one body for all its calls: the smallest design, with one schedule. Its arrays are those
of all calls at once, so that a chain of layers, each of which reads what the one before wrote, looks like one
array that is read and written, and no loop of it is free. A function for each call has a schedule of its own;
as the calls follow each other, they share the units of the design all the same.
"""

from __future__ import annotations

import copy
from collections import Counter
from dataclasses import dataclass, field

from allo.dialects.affine.loops import walk
from allo.dialects.core.signature import callee_of, functions_of
from allo.dialects.diagnostics import AlloError
from allo.schedule import Schedule

from ..model.kernel import APPLIED, Kernel, Nest
from ..model.read import read_kernel
from .part import functions_in, leave_outside


@dataclass(slots=True)
class Layers:
    """A schedule whose functions called several times are arranged, and what became of them.

    Attributes:
        schedule: a copy of what was given.
        kernel: its nests and arrays.
        notes: for each such function a line for the account of the search.
    """

    schedule: Schedule
    kernel: Kernel
    notes: list[str] = field(default_factory=list)


def arranged(given: Schedule, part: str | None = None) -> Layers:
    """Give each call a function of its own where the calls of one keep its loops from being scheduled.

    Args:
        part: the functions to schedule, as a pattern; all others stay as they are.

    Raises:
        AutoscheduleError: the pattern names no function.
    """
    found = Layers(copy.copy(given), read_kernel(given))
    inside = None if part is None else functions_in(given, part)
    for function, calls in _several(found.schedule).items():
        if inside is not None and function not in inside:
            continue
        before = _nests(found.kernel, {function})
        if any(nest.obstacle == APPLIED for nest in before):
            found.notes.append(f"{function}: rolled, {calls} calls, as the user has scheduled it")
            continue
        trial = copy.copy(found.schedule)
        try:
            names = trial.specialize(function)
        except AlloError as error:
            found.notes.append(f"{function}: rolled, {calls} calls ({error.message})")
            continue
        kernel = read_kernel(trial)
        if _bound(before) > _bound(_nests(kernel, {function})):
            if inside is not None:
                inside |= set(names)
            found = Layers(trial, kernel, found.notes)
            found.notes.append(f"{function}: a function for each of {len(names)} calls")
        else:
            found.notes.append(f"{function}: rolled, {calls} calls")
    if inside is not None:
        leave_outside(found.kernel, inside)
    return found


def _several(schedule: Schedule) -> dict[str, int]:
    """Functions with loops that are called at several places, those called by others of them first."""
    with schedule.context:
        functions = functions_of(schedule.module)
        counts = Counter(
            callee_of(op) for op in walk(schedule.module.operation) if op.name == "func.call"
        )
        return {
            name: counts[name]
            for name in functions
            if counts[name] > 1 and "region" not in functions[name].attributes
        }


def _nests(kernel: Kernel, functions: set[str]) -> list[Nest]:
    return [nest for nest in kernel.nests if nest.function in functions]


def _bound(nests: list[Nest]) -> int:
    """Nests whose iterations wait for each other."""
    return sum(nest.serial for nest in nests)
