"""The switch between channels of HBM2 in the memory model, beside published measurements of a U280.

Latencies by distance are of Shuhai (FCCM 2020). Rates of random accesses, and of one master on several
channels, are of AMD's Vitis tutorial "Using HBM", HBM Bandwidth Explorations (2022.1, read-only kernel,
300 MHz, one AXI master). That a lateral link halves the rate of two masters is said by AMD's PG276.
"""

from __future__ import annotations

import ctypes
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from allo.backend.sim import MemoryChannel, external_memory
from allo.backend.sim.boundary.traffic import TICKS
from allo.backend.sim.dram.crossing import Master
from allo.backend.sim.dram.ports import DramPorts

MHZ = 900.0
"""Times here are cycles of the memory."""
LATENCIES = {
    0: (55, 62, 69),
    1: (56, 63, 70),
    2: (58, 65, 72),
    3: (60, 67, 74),
    4: (71, 78, 85),
    5: (73, 80, 87),
    6: (75, 82, 89),
    7: (77, 84, 91),
}
"""Cycles of 450 MHz of a hit, of a closed row and of a conflict, by mini-switches from port to channel 0."""
RANDOM = {
    1: {256: 12.6164, 512: 13.1338, 1024: 13.155},
    2: {64: 0.760776, 128: 1.49869, 256: 2.71119, 512: 4.4994, 1024: 6.54655},
    4: {64: 0.553107, 128: 1.07469, 256: 1.99473, 512: 3.49935, 1024: 5.5307},
}
"""GB/s of random transactions of one id, by channels and bytes. Those of 64 and 128 bytes on one channel are
left out: 74 million requests a second both times, which the kernel issues and no memory bounds."""
ANY_ORDER = {2: {512: 13.9621, 1024: 14.1694}, 4: {512: 13.7546, 1024: 14.0694}}
"""The same where answers come in any order (by AMD's RAMA core)."""
KERNEL_MHZ, OUTSTANDING, PORT = 75.0, 32, 12
"""Transactions that the tutorial's kernel issues in a microsecond; those under way, which it does not say;
and its port: in the middle, "M11 or M12"."""
LATERAL = 14.4
"""GB/s of a lateral link, which two masters share."""


@dataclass(frozen=True, slots=True)
class Asked:
    """Reads of one master: the channel and address of each, and their size.

    Attributes:
        interval: cycles from one to the next, at least.
    """

    master: Master
    channels: Sequence[MemoryChannel]
    addresses: np.ndarray
    size: int
    interval: float = 0.0
    outstanding: int = OUTSTANDING


def hbm() -> tuple[MemoryChannel, ...]:
    """Channels whose switch is on."""
    return external_memory("hbm2", clock_mhz=MHZ, timing="dram", switch="on")


def reader(name: str, port: int, channels: Sequence[MemoryChannel], *, ids: bool) -> Master:
    """A master at a port: beside its first channel."""
    return Master(name, (hbm()[port], *channels), ordered=not ids)


def read(asked: Sequence[Asked]) -> tuple[list[np.ndarray], DramPorts]:
    """The cycles in which the requests of each master are answered, and the channels."""
    channels = {c.name: c for one in asked for c in one.master.channels}
    ports = DramPorts(channels, [one.master for one in asked])
    word = ctypes.c_uint64
    ask = ctypes.CFUNCTYPE(word, ctypes.c_void_p, word, word, word, word)(ports.requests[0])
    answer = ctypes.CFUNCTYPE(word, ctypes.c_void_p, word, word)(ports.requests[1])
    ways = [
        [ports.handles([channel], one.master.name)[0] for channel in one.channels] for one in asked
    ]
    ends: list[list[int]] = [[] for _ in asked]
    sent, waiting = [0] * len(asked), [deque[tuple[int | None, int]]() for _ in asked]
    cycle = 0
    while any(len(e) < len(one.channels) for e, one in zip(ends, asked, strict=True)):
        for n, one in enumerate(asked):
            queue, k = waiting[n], sent[n]
            while queue and answer(*queue[0], cycle * TICKS) <= cycle * TICKS:
                queue.popleft()
                ends[n].append(cycle)
            if k < len(one.channels) and cycle >= k * one.interval and len(queue) < one.outstanding:
                way, address = ways[n][k], int(one.addresses[k])
                queue.append((way, ask(way, address, one.size, cycle * TICKS, 0)))
                sent[n] += 1
        cycle += 1
    return [np.array(each) for each in ends], ports


def latencies(port: int, count: int = 40) -> tuple[float, float, float]:
    """Cycles of 450 MHz from a port to channel 0: of a hit, of a closed row, of a conflict."""
    every, found = hbm(), []
    for row in (0, 1 << 20):
        addresses = np.arange(count) * row % (1 << 28)
        master = reader("one", port, every[:1], ids=False)
        one = Asked(master, [every[0]] * count, addresses, 32, interval=450, outstanding=1)
        ends = read([one])[0][0] - np.arange(count) * 450
        values, counts = np.unique(ends, return_counts=True)
        common = values[counts.argmax()]
        found.append(common / 2)
        if row == 0:
            found.append(values[(values != common) & (counts >= 2)].min() / 2)
    hit, conflict = found[0], found[2]
    return float(hit), float(found[1]), float(conflict)


def random_rate(channels: int, size: int, *, ids: bool, count: int = 1500) -> float:
    """GB/s of random transactions of one master at the tutorial's port."""
    rng = np.random.default_rng(0)
    every = hbm()
    which = [every[n] for n in rng.integers(0, channels, count)]
    addresses = rng.integers(0, (1 << 28) // size, count) * size
    master = reader("one", PORT, every[:channels], ids=ids)
    interval = 0.0 if ids else MHZ / KERNEL_MHZ
    ends = read([Asked(master, which, addresses, size, interval)])[0][0]
    return float(count * size / (ends[-1] * 1e3 / MHZ))


def lateral_rate(ports: tuple[int, int], count: int = 3000) -> float:
    """GB/s of two masters of one mini-switch together, each in order on a channel of the next one."""
    every, asked = hbm(), []
    for n, port in enumerate(ports):
        channel = every[4 + n]
        master = reader(f"m{n}", port, [channel], ids=False)
        asked.append(Asked(master, [channel] * count, np.arange(count) * 64, 64, outstanding=64))
    ends, _ = read(asked)
    return float(2 * count * 64 / (max(each[-1] for each in ends) * 1e3 / MHZ))
