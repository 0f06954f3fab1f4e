"""The smallest depths of FIFOs at the end of a search."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from allo.dialects.diagnostics import AlloError
from allo.schedule import Schedule

from ..apply import Step


def sized(schedule: Schedule, options: Mapping[str, Any]) -> tuple[Schedule, list[Step], str]:
    """A copy with the smallest depths of FIFOs that keep its cycles, and the steps that make it.

    Depths are taken only where no values decide what passes, so that they hold for every run.

    Returns:
        The copy, the steps, and "", or the schedule itself, none, and why.
    """
    trial = copy.copy(schedule)
    before = len(trial.primitive_sequences)
    try:
        trial.size_fifos(warnings=False, **options)
    except AlloError as error:
        return schedule, [], error.message
    made = [
        Step(name, tuple(arguments), tuple(options.items()))
        for name, arguments, options in trial.primitive_sequences[before:]
    ]
    return trial, made, ""
