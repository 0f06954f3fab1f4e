"""``pipeline``: mark a loop to be pipelined."""

from __future__ import annotations

from allo.dialects._mlir import ir
from allo.dialects.core.locations import place_of
from allo.dialects.diagnostics import ScheduleError
from allo.schedule.handles import Axis
from allo.schedule.primitive import check_integer, primitive
from allo.schedule.resolve import find_loop
from allo.schedule.state import ScheduleState


@primitive
def pipeline(
    s: ScheduleState, axis: Axis, initiation_interval: int = 1, rewind: bool = False
) -> None:
    """Ask for a loop to be pipelined: a new iteration starts every ``initiation_interval`` cycles.

    ::

        for j in range(8)   ──▶   for j in range(8)   {pipeline_ii = 1 : ui32}

    Loops inside a pipelined loop are unrolled completely.

    Raises:
        ScheduleError: an interval below 1, or a rewind that is neither True nor False.
    """
    loop = find_loop(s.module, s.top_func_name, axis, "pipeline")
    interval = check_integer(
        initiation_interval,
        1,
        f"pipeline {loop.name}: the initiation interval",
        "1 starts an iteration every cycle.",
        place_of(loop.op),
    )
    if not isinstance(rewind, bool):
        raise ScheduleError(
            f"pipeline {loop.name}: rewind is True or False, got {rewind!r}.",
            place_of(loop.op),
            help="with True the loop starts again without draining.",
        )
    loop.op.attributes["pipeline_ii"] = ir.IntegerAttr.get(
        ir.IntegerType.get_unsigned(32), interval
    )
    if rewind:
        loop.op.attributes["rewind"] = ir.UnitAttr.get()
