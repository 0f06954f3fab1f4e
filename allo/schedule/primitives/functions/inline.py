"""``inline``: mark a function to be inlined."""

from __future__ import annotations

from allo.dialects._mlir import ir
from allo.dialects.diagnostics import HandleTypeError
from allo.schedule.handles import FunctionName
from allo.schedule.primitive import primitive
from allo.schedule.resolve import find_function
from allo.schedule.state import ScheduleState


@primitive
def inline(s: ScheduleState, axis: FunctionName | None = None) -> None:
    """Ask for a function to be inlined where it is called; the top function by default.

    ::

        func.func @add(…)   ──▶   func.func @add(…) attributes {inline}
    """
    name = s.top_func_name if axis is None else axis
    if not isinstance(name, str):
        raise HandleTypeError(
            f"inline: Function name must be a string, got {name!r}.",
            help="name the function to inline.",
        )
    find_function(s.module, name).attributes["inline"] = ir.UnitAttr.get()
