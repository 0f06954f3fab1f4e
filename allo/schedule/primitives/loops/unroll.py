"""``unroll``: mark a loop to be unrolled."""

from __future__ import annotations

from allo.dialects._mlir import ir
from allo.dialects.affine.loops import is_affine_loop, spec_of, walk
from allo.dialects.core.locations import place_of
from allo.dialects.diagnostics import ScheduleError, Surprise
from allo.schedule.handles import Axis
from allo.schedule.primitive import check_integer, primitive
from allo.schedule.resolve import find_loop
from allo.schedule.state import ScheduleState


@primitive
def unroll(s: ScheduleState, axis: Axis, factor: int = 0) -> None:
    """Mark a loop to be unrolled ``factor`` times, completely when 0.

    ::

        for j in range(8)   ──▶   for j in range(8)   {unroll = 4 : i32}

    Copies of a loop that holds a while loop run one after another, so the build warns of them.

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
    if place is not None and any(op.name == "scf.while" for op in walk(loop.op)):
        meant = "a for loop with a bound and a break inside, or leave out the unroll"
        s.kernel.surprises.append(Surprise.of("unroll", place, meant))
    loop.op.attributes["unroll"] = ir.IntegerAttr.get(ir.IntegerType.get_signless(32), factor)
