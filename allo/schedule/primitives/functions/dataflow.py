"""``dataflow``: let the parts of a function or loop run as concurrent processes."""

from __future__ import annotations

import warnings

from allo.dialects._mlir import ir
from allo.dialects.core.locations import place_of
from allo.dialects.diagnostics import DataflowWarning, ScheduleError
from allo.schedule.handles import FunctionName, LoopWrapper
from allo.schedule.primitive import primitive
from allo.schedule.resolve import find_function, find_loop
from allo.schedule.state import ScheduleState


@primitive
def dataflow(s: ScheduleState, axis: FunctionName | LoopWrapper) -> None:
    """Let the parts of a function, or of a loop's body, run as concurrent processes.

    ::

        s.dataflow("top")   ──▶   func.func @top(…) attributes {dataflow}

    A string names a function; mark a loop by its handle from ``get_loops``. The processes of a region run
    at once without it.

    Warns:
        DataflowWarning: the mark is there already. A build warns where nothing can run at once.
    """
    if isinstance(axis, LoopWrapper):
        target = find_loop(s.module, s.top_func_name, axis, "dataflow").op
    elif isinstance(axis, str):
        target = find_function(s.module, axis)
    else:
        raise ScheduleError(
            f"dataflow expects a function name or a loop handle, got {axis!r}.",
            help='for a loop take the handle: s.get_loops()["band"]["i"].',
        )
    if "dataflow" in target.attributes:
        name = axis if isinstance(axis, str) else f"loop {axis.name}"
        why = f"s.dataflow changes nothing: the parts of {name} are asked to run at once already."
        warnings.warn(f"{place_of(target)}: {why}", DataflowWarning, stacklevel=3)
    target.attributes["dataflow"] = ir.UnitAttr.get()
