"""Cycles of designs that a report does not know: where data decide them, or memory behind the design."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

from allo.dialects.diagnostics import AlloError
from allo.dialects.reports.figures import DesignReport
from allo.schedule import Schedule

OUTSIDE = frozenset(("interface", "memory"))
"""Options that put arrays behind buses, so that the cycles are those from memory to memory."""


def has_streams(schedule: Schedule) -> bool:
    """Whether processes of the program put words into FIFOs."""
    return "allo.stream" in str(schedule.module)


def of_arguments(
    schedule: Schedule, inputs: Sequence[Any], options: Mapping[str, Any]
) -> int | None:
    """The cycles of a call, by the model of regions; None where it cannot tell.

    Args:
        inputs: the arguments of the call, which decide what passes; none where nothing can be run.
        options: of the target ``verilog``.
    """
    if not inputs:
        return None
    try:
        module = schedule.build(target="verilog", warnings=False, **options)
        return int(module.predict(*copy.deepcopy(list(inputs))).cycles)
    except AlloError:
        return None


def reported(
    schedule: Schedule, options: Mapping[str, Any], clock: bool
) -> tuple[DesignReport, int | None]:
    """The report of a design, and behind buses the cycles from memory to memory, where they are foretold.

    One build gives both, in a third of the time that an estimate and a build take.

    Args:
        clock: whether it matters.

    Raises:
        AlloError: it cannot be built.
    """
    if not OUTSIDE.intersection(options):
        return schedule.estimate(warnings=False, clock=clock, **options), None
    module = schedule.build(target="verilog", warnings=False, **options)
    try:
        return module.report, int(module.foretold.cycles)
    except AlloError:
        return module.report, None
