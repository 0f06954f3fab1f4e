"""What a run moved over channels of external memory, beside what lies there, and what held it up."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from allo.backend.rtl.design import HardwareDesign

from .traffic import Outside, Traffic

BUSY = 0.75
"""Part of a run from which on a channel that moves data is what the run waits for."""
STALLED = 0.25
"""Part of a run from which on waiting for memory is what takes the time."""


@dataclass(frozen=True, slots=True)
class Transfers:
    """The transfers of a run.

    Attributes:
        moved: bytes of lines, on all channels.
        whole: bytes of the arrays in channels, each element once for each direction that the design has.
        busiest: the channel that moves data for the largest part of the run.
        share: that part.
        limit: ``"bandwidth"``, ``"latency"`` or ``"compute"``.
    """

    moved: int
    whole: int
    busiest: str
    share: float
    limit: str

    def __str__(self) -> str:
        """A sentence."""
        return (
            f"{self.moved:,} bytes moved, {self.whole:,} of whole arrays; {self.busiest} moves data for "
            f"{self.share:.1%} of the run; bound by {self.limit}"
        )


def transfers_of(
    design: HardwareDesign, outside: Outside, traffic: Traffic, cycles: int
) -> Transfers | None:
    """The transfers of a run; None where no channel is connected."""
    if not traffic.channels:
        return None
    busiest, most = max(traffic.channels.items(), key=lambda each: each[1].utilisation)
    limit = "compute"
    if most.utilisation >= BUSY:
        limit = "bandwidth"
    elif traffic.stall_cycles >= STALLED * cycles:
        limit = "latency"
    again = _buses_of_channels(design, outside)
    return Transfers(
        sum(channel.bytes for name, channel in traffic.channels.items() if name not in again),
        _whole(design, outside),
        busiest,
        most.utilisation,
        limit,
    )


def _buses_of_channels(design: HardwareDesign, outside: Outside) -> set[str]:
    """The masters behind which channels are, which move the same bytes."""
    arrays = design.board.arrays if design.board is not None else ()
    return {
        bundle for array in arrays if outside.memory.get(array.name) for bundle in array.bundles
    }


def _whole(design: HardwareDesign, outside: Outside) -> int:
    if design.board is not None:
        return sum(array.bytes * (array.loaded + array.stored) for array in design.board.arrays)
    ways = {"in": 1, "out": 1, "both": 2}
    return sum(
        prod(array.shape) * -(-array.width // 8) * ways[array.direction]
        for array in design.arrays
        if array.name in outside.memory
    )
