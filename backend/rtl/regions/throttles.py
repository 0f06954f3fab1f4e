"""What holds up the end of a run: the chain of waits that leads back from it."""

from __future__ import annotations

from collections import Counter

import numpy as np

from allo.dialects.reports.regions import ThrottleReport

from .build import Build
from .native import Longs

MOST_STEPS = 100_000
"""Waits of the chain that are followed back."""


def chain_of_waits(build: Build, waits: Longs, ends: Longs) -> list[ThrottleReport]:
    """The FIFOs on the chain, those that are waited for longest first.

    The chain begins with the process that ends last. Its last wait ended because the process at the other
    end of the FIFO put a word or took one, in the cycle before; so the chain goes on there.

    Args:
        waits: channel, first cycle and end of every wait, in order of their ends.
        ends: the end of each process and region.
    """
    owner = np.array([channel.process for channel in build.channels], np.int64)
    by_process: dict[int, Longs] = {}
    if len(waits):
        whose = owner[waits[:, 0]]
        order = np.argsort(whose, kind="stable")
        bounds = np.searchsorted(whose[order], np.arange(len(build.processes) + 1))
        for number in range(len(build.processes)):
            rows = order[bounds[number] : bounds[number + 1]]
            if len(rows):
                by_process[number] = waits[rows]
    others = {(c.fifo, c.putting): c.process for c in build.channels}
    last = max(build.processes, key=lambda p: int(ends[p.entity]), default=None)
    if last is None:
        return []
    cycles: Counter[tuple[int, int, bool]] = Counter()
    process, time = last.number, int(ends[last.entity]) + 1
    for _ in range(MOST_STEPS):
        own = by_process.get(process)
        if own is None:
            break
        position = int(np.searchsorted(own[:, 2], time, side="right")) - 1
        if position < 0:
            break
        number, start, end = (int(value) for value in own[position])
        channel = build.channels[number]
        cycles[channel.fifo, process, channel.putting] += end - start
        other = others.get((channel.fifo, not channel.putting))
        if other is None:
            break
        process, time = other, end - 1
    return [
        ThrottleReport(build.fifos[fifo].label, build.processes[whose].name, full, count)
        for (fifo, whose, full), count in cycles.most_common()
    ]
