"""``dataflow``: let the parts of a function or loop run as concurrent processes."""

from __future__ import annotations

from allo.dialects._mlir import ir
from allo.dialects.diagnostics import ScheduleError
from allo.schedule.handles import FunctionName, LoopWrapper
from allo.schedule.primitive import primitive
from allo.schedule.resolve import find_function, find_loop
from allo.schedule.state import ScheduleState


@primitive
def dataflow(s: ScheduleState, axis: FunctionName | LoopWrapper) -> None:
    """Let the parts of a function, or of a loop's body, run as concurrent processes.

    ::

        s.dataflow("top")   ──▶   func.func @top(…) attributes {dataflow}

    A string names a function; mark a loop by its handle from ``get_loops``.
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
    target.attributes["dataflow"] = ir.UnitAttr.get()
