"""The channels of dynamic memory around a design, and the design's ports on them, in one run."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from allo.backend.rtl.design import HardwareDesign

from ..boundary.traffic import (
    DRAM,
    TICKS,
    ChannelStatistics,
    Crossing,
    MemoryChannel,
    Outside,
    device_of,
    lines_ahead,
)
from .channel import Counts, dram_library
from .crossing import Master, Ways

PAGE = 4096
KHZ = 1000


@dataclass(frozen=True, slots=True)
class Region:
    """What lies on some channels in turn: the bank of an array, or a stream.

    Attributes:
        bits: its size.
        banks: those of the array whose lines lie between its own; ``first`` is its number among them.
        polls: its port asks again in each cycle; another's request is decided when it comes.
    """

    channels: tuple[MemoryChannel, ...]
    bits: int
    polls: bool
    banks: int = 1
    first: int = 0


def regions(
    design: HardwareDesign, outside: Outside, words: Mapping[str, int]
) -> Iterator[tuple[Region, list[str]]]:
    """What lies in external memory, each with its ports; ``words``: how many each stream has."""
    for array in design.arrays:
        bits = array.layout.bank_depth * array.width
        used = list(dict.fromkeys(sorted(port.bank for port in array.ports)))
        for bank in used:
            ports = [port for port in array.ports if port.bank == bank]
            if route := outside.route(array.name, bank):
                polls = all(port.waits for port in ports)
                together = (1, 0) if array.name in outside.apart else (len(used), used.index(bank))
                yield Region(route, bits, polls, *together), [port.prefix for port in ports]
    for stream in design.streams:
        model = outside.streams.get(stream.name)
        if model and model.channels:
            bits = words[stream.name] * stream.width
            yield Region(model.channels, bits, polls=True), [stream.name]


class DramPorts:
    """Idle channels; arrays and streams are placed on them one after the other, at pages.

    Args:
        masters: AXI4 masters that reach the channels; without, the design has a port beside each channel.

    Raises:
        SimulationError: there are more masters than ports, or they need a switch that is off.
    """

    def __init__(
        self, channels: Mapping[str, MemoryChannel], masters: Sequence[Master] = ()
    ) -> None:
        self._library = dram_library()
        self._about = {n: each for n, each in channels.items() if each.timing == DRAM}
        self._channels = {name: self._new(each) for name, each in self._about.items()}
        self._ways = Ways(self._about, self._channels, masters)
        self._free = dict.fromkeys(self._about, 0)
        self._ports: list[int] = []
        self._base = 0

    def __del__(self) -> None:
        for port in getattr(self, "_ports", ()):
            self._library.allo_dram_port_delete(port)
        if hasattr(self, "_ways"):
            self._ways.close()
        for channel in getattr(self, "_channels", {}).values():
            self._library.allo_dram_clocked_delete(channel)

    def _new(self, channel: MemoryChannel) -> int:
        device = device_of(channel)
        words, bits = np.array(device.words(), dtype=np.uint64), device.address_bits()
        design = round((channel.clock_mhz or 0) * KHZ) * TICKS
        made: int = self._library.allo_dram_clocked(
            words.ctypes.data, bits, len(bits), round(device.mhz * KHZ), design
        )
        return made

    @property
    def touch(self) -> int:
        """The address of the function that ports are touched with."""
        return ctypes.cast(self._library.allo_dram_touch, ctypes.c_void_p).value or 0

    @property
    def requests(self) -> tuple[int, int]:
        """The addresses of the functions that ask for a line, and say when it is there."""
        functions = (self._library.allo_dram_ask, self._library.allo_dram_answer)
        ask, answer = (ctypes.cast(each, ctypes.c_void_p).value or 0 for each in functions)
        return ask, answer

    def handles(
        self, route: Sequence[MemoryChannel], master: str = ""
    ) -> ctypes.Array[ctypes.c_void_p]:
        """The channels of a route, as a master reaches them."""
        ways = (self._ways.to(master, each.name) for each in route)
        return (ctypes.c_void_p * len(route))(*ways)

    @property
    def crossings(self) -> tuple[Crossing, ...]:
        """The ways through the switch that were taken."""
        return self._ways.crossings()

    def place(self, region: Region) -> int:
        """The address of a region, or of all banks of its array: the same on each of its channels."""
        if region.first:
            return self._base
        names, line = [channel.name for channel in region.channels], self._line(region)
        base = self._base = max(self._free[name] for name in names)
        size = -(-self._lines(region) * region.banks // len(names)) * line
        self._free |= dict.fromkeys(names, base + -(-size // PAGE) * PAGE)
        return base

    def port(self, region: Region, base: int) -> int:
        """A port that serves a region; its address."""
        about = [base, self._lines(region), self._line(region), lines_ahead(region.channels)]
        bank = [region.banks, region.first]
        place = np.array([*about, region.polls, *bank], dtype=np.uint64)
        route = self.handles(region.channels)
        made: int = self._library.allo_dram_port(route, len(route), place.ctypes.data)
        self._ports.append(made)
        return made

    def statistics(self, name: str, cycles: int) -> ChannelStatistics:
        """What a channel did in a run of so many cycles."""
        about = self._about[name]
        device = device_of(about)
        words = np.zeros(11, dtype=np.uint64)
        self._library.allo_dram_ran(self._channels[name], cycles * TICKS, words.ctypes.data)
        *counted, moved = words.tolist()
        counts = Counts(*counted)
        seconds = cycles / ((about.clock_mhz or 1) * 1e6)
        return ChannelStatistics(
            moved,
            counts.bursts * device.bl_ck / (seconds * device.mhz * 1e6),
            DRAM,
            counts.hits,
            counts.misses,
            counts.conflicts,
            counts.refreshes,
            counts.turnarounds,
            counts.latency / max(1, counts.reads) * 1e3 / device.mhz,
            counts.longest * 1e3 / device.mhz,
        )

    @staticmethod
    def _line(region: Region) -> int:
        return region.channels[0].line_bytes

    @classmethod
    def _lines(cls, region: Region) -> int:
        return -(-region.bits // (8 * cls._line(region)))


def longest_wait(channels: Sequence[MemoryChannel], requests: int) -> int:
    """Cycles for which dynamic memory may keep a design waiting that has so many lines under way."""
    found = [0]
    for channel in channels:
        device = device_of(channel)
        bursts = requests * (channel.line_bytes // device.burst_bytes + 1)
        row = device.ras + device.rp + device.wr + (device.cl_ck + device.bl_ck) * 1e3 / device.mhz
        time = device.front_ns + 2 * device.rfc + (bursts + 1) * row
        found.append(round(time * (1 + device.rfc / device.refi) * (channel.clock_mhz or 1) / 1e3))
    return max(found)
