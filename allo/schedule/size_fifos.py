"""``size_fifos``: depths of FIFOs by the model of the hardware, applied to the schedule."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from allo.dialects.diagnostics import ScheduleError, UnknownHandleError
from allo.dialects.reports.sizing import Sizing
from allo.dialects.streams.outline import FLOW

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
    places = [(fifo, _place(s, fifo.region, fifo.name)) for fifo in found.fifos]
    changed = [
        (fifo, place) for fifo, place in places if place is not None and fifo.after != fifo.before
    ]
    if changed:
        names = [f"{place}:{fifo.name}" for fifo, place in changed]
        fifo_depths(s, names, [fifo.after for fifo, _ in changed])
    return found


def _holder(s: ScheduleState, region: str, name: str) -> object:
    """What says the depth of a FIFO: the same for FIFOs that have one depth."""
    place = _place(s, region, name)
    if place is None:
        return region, name
    (holder, *_) = holders_of(s.module, place, name)
    return (region, holder) if isinstance(holder, str) else (region, name)


def _place(s: ScheduleState, region: str, name: str) -> str | None:
    """The function of the program that has a FIFO; None of those that a build makes for tasks.

    Calls with arrays that ``to`` made FIFOs of lie in a function of their own once they are built.
    """
    for function in (region, region.rpartition(FLOW)[0]):
        try:
            holders_of(s.module, function, name)
        except UnknownHandleError:
            continue
        return function
    return None
