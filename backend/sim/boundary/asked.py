"""How long a channel takes for single elements that data decide: foretold as if they lay at random."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from allo.backend.rtl.interfaces.board import Buffered, Master

from ..dram.channel import DramChannel
from .traffic import DRAM, MemoryChannel, device_of

TRIED = 4096
"""Requests that the model of a channel is asked for; more take as long each."""
ON_THE_WAY = {False: 5, True: 4}
"""Cycles of the design for which a read or a write and its answer are between core and channel."""


def request_cycles(
    array: Buffered, master: Master, route: Sequence[MemoryChannel], *, writes: bool
) -> float:
    """Cycles between two elements, each anywhere in the array, with as many under way as allowed."""
    if not route:
        return 1.0
    channel, many = route[0], master.outstanding
    if channel.timing != DRAM or channel.clock_mhz is None:
        moved = master.width / 8 / channel.bytes_per_cycle
        return max(1.0, moved, (channel.latency + ON_THE_WAY[writes]) / many)
    device = device_of(channel)
    places = np.random.default_rng(0).integers(0, array.count, TRIED) * (array.cell // 8)
    bursts = places // device.burst_bytes * device.burst_bytes
    kinds = np.full(TRIED, int(writes), np.uint8)
    ends = DramChannel(device).replay(bursts, writes=kinds, outstanding=many)
    own = float(ends.max()) * channel.clock_mhz / device.mhz / TRIED
    return max(1.0, own + ON_THE_WAY[writes] / many)


__all__ = ["request_cycles"]
