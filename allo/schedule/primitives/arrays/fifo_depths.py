"""``fifo_depths``: how many elements FIFOs hold."""

from __future__ import annotations

from collections.abc import Sequence

from allo.dialects._mlir import ir
from allo.dialects.affine.loops import walk
from allo.dialects.core.fifos import MAKE
from allo.dialects.core.locations import place_of
from allo.dialects.diagnostics import ScheduleError, UnknownHandleError
from allo.dialects.reports.network import base_name
from allo.dialects.streams.space import StreamSpace, stream_space
from allo.schedule.analysis.link import mark
from allo.schedule.handles import Buffer
from allo.schedule.near import suggestion
from allo.schedule.primitive import check_integer, primitive
from allo.schedule.resolve import buffers_of, find_buffer, find_function, split_name
from allo.schedule.state import ScheduleState

Holder = ir.Operation | str
"""What says the depth of a FIFO: the operation that makes it, or the array that ``to`` made FIFOs of."""


@primitive
def fifo_depths(s: ScheduleState, fifos: Sequence[Buffer], depths: Sequence[int]) -> None:
    """Say how many elements FIFOs hold.

    ::

        s.fifo_depths(["pipe", "inner:words"], [2, 8])

        pipe: Stream[int32, 16]   ──▶   allo.stream {depth = 2, name = "pipe"}

    A name is that of a stream of the top region, ``"region:stream"`` of another one, or an array that
    :meth:`to` has made a FIFO. The name of an array of FIFOs means all of it, ``"cells_0_1"`` one of
    them. The elements that pass stay the same; a design whose FIFOs are too small for its order deadlocks.

    Args:
        fifos: their names.
        depths: how many elements each holds, at least 1.

    Raises:
        ScheduleError: there are not as many depths as names, or a depth is below 1.
        UnknownHandleError: there is no FIFO of a name.
    """
    if isinstance(fifos, str) or len(fifos) != len(depths):
        raise ScheduleError(
            "fifo_depths: there are not as many depths as FIFOs.",
            help='give a list of each: s.fifo_depths(["pipe"], [2]).',
        )
    for name, depth in zip(fifos, depths, strict=True):
        if not isinstance(name, str):
            raise ScheduleError(
                f"fifo_depths: {name!r} is no name of a FIFO.",
                help='name it "pipe" or "region:pipe".',
            )
        func, fifo = split_name(name, s.top_func_name)
        number = check_integer(depth, 1, f"fifo_depths {fifo}: the depth", "it holds 1 at least.")
        for holder in holders_of(s.module, func, fifo):
            if isinstance(holder, str):
                buffer = find_buffer(s.module, s.top_func_name, f"{func}:{holder}", "fifo_depths")
                space = stream_space(buffer.type)
                mark(s.module, buffer, StreamSpace(number, space.labels if space else ""))
            else:
                holder.attributes["depth"] = ir.IntegerAttr.get(
                    ir.IntegerType.get_signless(32), number
                )


def holders_of(module: ir.Module, func: str, fifo: str) -> list[Holder]:
    """What says the depth of a FIFO, or of each of an array of FIFOs.

    Raises:
        UnknownHandleError: the function has no FIFO of this name.
    """
    function = find_function(module, func)
    made = {
        ir.StringAttr(op.attributes["name"]).value: op for op in walk(function) if op.name == MAKE
    }
    if fifo in made:
        return [made[fifo]]
    whole: list[Holder] = [op for name, op in made.items() if base_name(name) == fifo]
    if whole:
        return whole
    arrays = [n for n, v in buffers_of(function).items() if stream_space(v.type) is not None]
    for name in (fifo, base_name(fifo)):
        if name in arrays:
            return [name]
    raise UnknownHandleError(
        f"fifo_depths: function {func} has no FIFO {fifo}.",
        place_of(function),
        help=suggestion(fifo, [*made, *arrays], f"{func} has the FIFOs"),
    )
