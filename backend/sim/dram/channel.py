"""One channel of dynamic memory by itself, for measurements: requests in, times out."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..buses.library import compiled
from .devices import Device

SOURCES = Path(__file__).resolve().parent / "cpp"
FILES = ("interface.cpp", "port.hpp", "switch.hpp", "dram.hpp")
COMMANDS = ("ACT", "PRE", "RD", "WR", "REF", "PREA")
_POINTER, _WORD = ctypes.c_void_p, ctypes.c_uint64
_FUNCTIONS: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "new": (_POINTER, (_POINTER, _POINTER, _WORD)),
    "delete": (None, (_POINTER,)),
    "trace": (None, (_POINTER,)),
    "events": (_WORD, (_POINTER, _POINTER)),
    "counts": (None, (_POINTER, _POINTER)),
    "replay": (None, (_POINTER, *[_POINTER] * 3, _WORD, _WORD, _WORD, _POINTER)),
    "clocked": (_POINTER, (_POINTER, _POINTER, _WORD, _WORD, _WORD)),
    "clocked_delete": (None, (_POINTER,)),
    "ran": (None, (_POINTER, _WORD, _POINTER)),
    "links": (_POINTER, (_POINTER, _WORD)),
    "links_delete": (None, (_POINTER,)),
    "entry": (_POINTER, (_WORD, _WORD)),
    "entry_delete": (None, (_POINTER,)),
    "reach": (_POINTER, (_POINTER, _POINTER, _POINTER, _POINTER)),
    "reach_delete": (None, (_POINTER,)),
    "passed": (None, (_POINTER, _POINTER)),
    "port": (_POINTER, (_POINTER, _WORD, _POINTER)),
    "port_delete": (None, (_POINTER,)),
    "ask": (_WORD, (_POINTER, _WORD, _WORD, _WORD, _WORD)),
    "answer": (_WORD, (_POINTER, _WORD, _WORD)),
    "touch": (_WORD, (_POINTER, _WORD, _WORD, _WORD, _WORD)),
}


@functools.cache
def dram_library() -> ctypes.CDLL:
    """The library, its functions typed (``allo_dram_…``); compiled once on a machine."""
    library = compiled("dram", SOURCES, FILES)
    for name, (result, arguments) in _FUNCTIONS.items():
        function = getattr(library, f"allo_dram_{name}")
        function.restype, function.argtypes = result, arguments
    return library


@dataclass(frozen=True, slots=True)
class Counts:
    """What a channel did, in bursts and cycles of the memory.

    Attributes:
        hits: bursts from a row that was open.
        misses: those whose bank had no open row.
        conflicts: those for which another row was closed.
        refresh_cycles: cycles in which the channel stood for a refresh.
        turnarounds: turns of the data bus between reads and writes.
        latency: sum over the bursts that were read, from request to data.
        longest: the longest of these.
    """

    bursts: int
    hits: int
    misses: int
    conflicts: int
    refreshes: int
    refresh_cycles: int
    turnarounds: int
    reads: int
    latency: int
    longest: int


@dataclass(frozen=True, slots=True)
class Command:
    """One command on the bus of a channel."""

    time: int
    name: str
    group: int
    bank: int
    row: int


class DramChannel:
    """A channel of a device.

    Example::

        ends = DramChannel(HBM2).replay(range(0, 1 << 20, 32))
    """

    def __init__(self, device: Device, *, traced: bool = False) -> None:
        self._library = dram_library()
        words, bits = np.array(device.words(), dtype=np.uint64), device.address_bits()
        self._channel = self._library.allo_dram_new(words.ctypes.data, bits, len(bits))
        self._device = device
        if traced:
            self._library.allo_dram_trace(self._channel)

    def __del__(self) -> None:
        if hasattr(self, "_channel"):
            self._library.allo_dram_delete(self._channel)

    def replay(
        self,
        addresses: Sequence[int] | np.ndarray,
        times: np.ndarray | None = None,
        writes: np.ndarray | None = None,
        outstanding: int = 64,
    ) -> np.ndarray:
        """The cycle in which each request of a burst ends.

        Args:
            times: the first cycle in which each may be sent, 0 by default.
            writes: which of them write; none by default.
            outstanding: how many may be under way.
        """
        at = np.ascontiguousarray(addresses, dtype=np.uint64)
        when = np.zeros_like(at) if times is None else np.ascontiguousarray(times, dtype=np.uint64)
        kind = np.zeros(at.shape, np.uint8)
        if writes is not None:
            kind[:] = writes
        ends = np.zeros_like(at)
        pointers = [each.ctypes.data for each in (at, when, kind)]
        size = self._device.burst_bytes
        self._library.allo_dram_replay(
            self._channel, *pointers, len(at), size, outstanding, ends.ctypes.data
        )
        return ends

    def commands(self) -> list[Command]:
        """The commands so far, of a traced channel."""
        count = self._library.allo_dram_events(self._channel, None)
        events = np.zeros((count, 5), dtype=np.uint64)
        self._library.allo_dram_events(self._channel, events.ctypes.data)
        return [Command(t, COMMANDS[c], g, b, r) for t, c, g, b, r in events.tolist()]

    def counts(self) -> Counts:
        """What it did so far."""
        words = np.zeros(10, dtype=np.uint64)
        self._library.allo_dram_counts(self._channel, words.ctypes.data)
        return Counts(*words.tolist())


TICKS, KHZ = 256, 1000
"""Times of a channel beside a design are in 1/256 of its cycles; clocks are held in kHz."""


class Requests:
    """A channel beside a design of a clock, asked for single elements.

    Args:
        clock_mhz: the clock of the design.
    """

    def __init__(self, device: Device, clock_mhz: float) -> None:
        self._library = dram_library()
        words, bits = np.array(device.words(), dtype=np.uint64), device.address_bits()
        clocks = round(device.mhz * KHZ), round(clock_mhz * KHZ) * TICKS
        self._channel = self._library.allo_dram_clocked(words.ctypes.data, bits, len(bits), *clocks)
        self._way = self._library.allo_dram_reach(self._channel, None, None, None)
        self._burst = device.burst_bytes

    def __del__(self) -> None:
        if hasattr(self, "_way"):
            self._library.allo_dram_reach_delete(self._way)
            self._library.allo_dram_clocked_delete(self._channel)

    def ask(self, address: int, size: int, cycle: int, *, writes: bool) -> int:
        """Ask for the bursts of an element in a cycle of the design; a ticket."""
        first = address // self._burst * self._burst
        size = -(-(address + size - first) // self._burst) * self._burst
        ticket: int = self._library.allo_dram_ask(
            self._way, first, size, cycle * TICKS, int(writes)
        )
        return ticket

    def is_over(self, ticket: int, cycle: int) -> bool:
        """Whether its data are there, or it is written, by a cycle."""
        end: int = self._library.allo_dram_answer(self._way, ticket, cycle * TICKS)
        return end <= cycle * TICKS
