"""Primitives that mark loops and functions for the back ends."""

from __future__ import annotations

from typing import TYPE_CHECKING

from allo.dialects._mlir import ir
from allo.dialects.affine.loops import is_affine_loop, spec_of
from allo.dialects.core.locations import place_of
from allo.dialects.diagnostics import ScheduleError
from allo.schedule.analysis.legality import check_order, model_of
from allo.schedule.handles import Axis, LoopWrapper
from allo.schedule.primitive import check_integer, primitive
from allo.schedule.resolve import find_function, find_loop

if TYPE_CHECKING:
    from allo.schedule.schedule import Schedule


@primitive
def unroll(s: Schedule, axis: Axis, factor: int = 0) -> None:
    """Mark a loop to be unrolled ``factor`` times, completely when 0.

    ::

        for j in range(8)   ──▶   for j in range(8)   {unroll = 4 : i32}

    Raises:
        ScheduleError: a negative factor, one beyond the extent, or a complete unroll of a loop
            whose extent is unknown.
    """
    loop = find_loop(s.module, s.top_func_name, axis, "unroll")
    place = place_of(loop.op)
    factor = check_integer(
        factor,
        0,
        f"unroll {loop.name}: the factor",
        "0 unrolls completely, n makes n copies of the body.",
        place,
    )
    extent = spec_of(loop.op).trip_count() if is_affine_loop(loop.op) else None
    if extent is not None and factor > extent:
        raise ScheduleError(
            f"unroll {loop.name}: the factor {factor} is beyond the extent {extent}.",
            place,
            help=f"use a factor up to {extent}, or 0 to unroll completely.",
        )
    if not is_affine_loop(loop.op) and factor == 0:
        raise ScheduleError(
            f"unroll {loop.name}: a loop whose bounds are known only when it runs cannot be "
            "unrolled completely.",
            place,
            help="give a factor, or make the bounds constants.",
        )
    loop.op.attributes["unroll"] = ir.IntegerAttr.get(ir.IntegerType.get_signless(32), factor)


@primitive
def pipeline(s: Schedule, axis: Axis, initiation_interval: int = 1, rewind: bool = False) -> None:
    """Ask for a loop to be pipelined: a new iteration starts every ``initiation_interval`` cycles.

    ::

        for j in range(8)   ──▶   for j in range(8)   {pipeline_ii = 1 : ui32}

    Loops inside a pipelined loop are unrolled completely.

    Raises:
        ScheduleError: an interval below 1.
    """
    loop = find_loop(s.module, s.top_func_name, axis, "pipeline")
    interval = check_integer(
        initiation_interval,
        1,
        f"pipeline {loop.name}: the initiation interval",
        "1 starts an iteration every cycle.",
        place_of(loop.op),
    )
    loop.op.attributes["pipeline_ii"] = ir.IntegerAttr.get(
        ir.IntegerType.get_unsigned(32), interval
    )
    if rewind:
        loop.op.attributes["rewind"] = ir.UnitAttr.get()


@primitive
def parallel(s: Schedule, axis: Axis) -> None:
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


@primitive
def inline(s: Schedule, axis: str | None = None) -> None:
    """Ask for a function to be inlined where it is called; the top function by default.

    ::

        func.func @add(…)   ──▶   func.func @add(…) attributes {inline}
    """
    name = s.top_func_name if axis is None else axis
    if not isinstance(name, str):
        raise ScheduleError(
            f"inline: Function name must be a string, got {name!r}.",
            help="name the function to inline.",
        )
    find_function(s.module, name).attributes["inline"] = ir.UnitAttr.get()


@primitive
def dataflow(s: Schedule, axis: str | LoopWrapper) -> None:
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
