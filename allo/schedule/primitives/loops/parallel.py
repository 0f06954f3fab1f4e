"""``parallel``: declare that the iterations of a loop are independent."""

from __future__ import annotations

from allo.dialects._mlir import ir
from allo.schedule.analysis.legality import check_order, model_of
from allo.schedule.handles import Axis
from allo.schedule.primitive import primitive
from allo.schedule.resolve import find_loop
from allo.schedule.state import ScheduleState


@primitive
def parallel(s: ScheduleState, axis: Axis) -> None:
    """Declare that the iterations of a loop may run at once.

    ::

        for i in range(8)   ──▶   for i in range(8)   {parallel}

    Raises:
        IllegalTransformError: an iteration depends on an earlier one.
    """
    loop = find_loop(s.module, s.top_func_name, axis, "parallel")
    model = model_of(s.module, [loop.op])
    # Iterations are independent exactly when running them backwards is legal.
    times = [[t.time()[0], f"-{t.time()[1]}", *t.time()[2:]] for t in model.statements]
    check_order(model, times, f"run loop {loop.name} in parallel", [loop.op])
    loop.op.attributes["parallel"] = ir.UnitAttr.get()
