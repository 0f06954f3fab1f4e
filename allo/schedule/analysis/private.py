"""Whether an array is its function's own."""

from __future__ import annotations

from allo.dialects._mlir import ir
from allo.dialects.diagnostics import ScheduleError, SourcePlace

from ..resolve import FoundBuffer


def check_private(buffer: FoundBuffer, place: SourcePlace | None) -> None:
    """The array must be one of its function's own: a FIFO keeps nothing for a caller.

    Raises:
        ScheduleError: it is an argument, or returned.
    """
    value = buffer.value
    returned = any(use.owner.name == "func.return" for use in value.uses)
    if isinstance(value, ir.BlockArgument) or returned:
        how = "returned by" if returned else "an argument of"
        raise ScheduleError(
            f"to {buffer.name}: it is {how} {buffer.func}, and a FIFO is empty at the end.",
            place,
            help="let the producer write a local array.",
        )
