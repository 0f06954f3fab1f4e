"""``size_fifos``: depths of FIFOs by the model of the hardware, applied to the schedule."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from allo.dialects.diagnostics import ScheduleError, UnknownHandleError
from allo.dialects.reports.sizing import Sizing

from .primitives.arrays.fifo_depths import fifo_depths, holders_of
from .state import ScheduleState


class Built(Protocol):
    """A schedule that builds hardware."""

    def build(self, target: str, **options: Any) -> Any:
        """A module of a target."""
        ...


def sized_fifos(s: Any, loss: float, inputs: Sequence[Any], options: Mapping[str, Any]) -> Sizing:
    """Find the smallest depths, and apply them; see :meth:`.schedule.Schedule.size_fifos`."""
    if isinstance(loss, bool) or not isinstance(loss, int | float) or not 0 <= loss < float("inf"):
        raise ScheduleError(
            f"size_fifos: the loss must be a number of at least 0, got {loss!r}.",
            help="0.02 allows 2 % more cycles.",
        )
    module = s.build(target="verilog", **options)
    found: Sizing = module.size_fifos(inputs, float(loss), lambda *fifo: _holder(s, *fifo))
    changed = [
        fifo
        for fifo in found.fifos
        if fifo.after != fifo.before and _exists(s, fifo.region, fifo.name)
    ]
    if changed:
        names = [f"{fifo.region}:{fifo.name}" for fifo in changed]
        fifo_depths(s, names, [fifo.after for fifo in changed])
    return found


def _holder(s: ScheduleState, region: str, name: str) -> object:
    """What says the depth of a FIFO: the same for FIFOs that have one depth."""
    if not _exists(s, region, name):
        return region, name
    (holder, *_) = holders_of(s.module, region, name)
    return (region, holder) if isinstance(holder, str) else (region, name)


def _exists(s: ScheduleState, region: str, name: str) -> bool:
    """Whether a FIFO is one of the program: a build makes more of them for tasks."""
    try:
        holders_of(s.module, region, name)
    except UnknownHandleError:
        return False
    return True
