"""Cycles of designs that a report does not know: where data decide them, or memory behind the design."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

from allo.dialects.diagnostics import AlloError
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
        inputs: the arguments of the call, which decide what passes.
        options: of the target ``verilog``.
    """
    try:
        module = schedule.build(target="verilog", warnings=False, **options)
        return int(module.predict(*copy.deepcopy(list(inputs))).cycles)
    except AlloError:
        return None


def from_memory(schedule: Schedule, options: Mapping[str, Any]) -> int | None:
    """The cycles of a run behind its buses, as the module foretells them; None where it cannot tell."""
    try:
        return int(schedule.build(target="verilog", warnings=False, **options).foretold.cycles)
    except AlloError:
        return None
