"""Default schedules: what ``compose(kernel, instantiate=[…])`` applies to a library kernel."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import allo
from allo.customize import Schedule

ScheduleFunction = Callable[[Schedule], Schedule]

#: Library kernel name to the function that schedules it.
KERNEL_SCHEDULES: dict[str, ScheduleFunction] = {}


def scheduled_by(kernel: Callable[..., Any], schedule: ScheduleFunction) -> None:
    """Make ``schedule`` the default schedule of ``kernel``.

    ``Schedule.compose`` finds it as the kernel's attribute ``default_schedule``, a function from
    template arguments to a Schedule.
    """

    def default_schedule(instantiate: Sequence[Any] | None) -> Schedule:
        made = allo.customize(kernel, instantiate=list(instantiate or []))
        schedule(made)
        return made

    kernel.default_schedule = default_schedule  # type: ignore[attr-defined]
    KERNEL_SCHEDULES[kernel.__name__] = schedule


def pipeline_innermost(s: Schedule, function: str | None = None) -> Schedule:
    """Pipeline the innermost loop of every nest of a function (default: the top one), interval 1."""
    for _, band in s.get_loops(function or s.top_func_name):
        for loop in _innermost(band):
            s.pipeline(loop)
    return s


def _innermost(band: Any) -> list[Any]:
    handles = [handle for _, handle in band]
    return [h for h in handles if not _holds_loops(h.loop)]


def _holds_loops(op: Any) -> bool:
    for region in op.regions:
        for block in region.blocks:
            for inner in block.operations:
                operation = inner.operation
                if operation.name in ("affine.for", "scf.for") or _holds_loops(operation):
                    return True
    return False
