"""The engine of regions: ``backend/runtime/regions.cpp``, compiled once on this machine, and its tables."""

from __future__ import annotations

import ctypes
import enum
import functools
from array import array
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from allo.dialects.processes.native_libraries import load_library

_ABI = 6
_LIBRARY = "liballo_regions.so"
_SOURCES = ("regions.cpp", "regions_starts.cpp", "regions_ports.cpp", "regions_interface.cpp")
_HEADERS = ("regions.hpp", "regions_agenda.hpp")
WAIT, DRAIN, CALL, END, SETTLE = -1, -2, -3, -4, -5
"""Records of traces that are no variants of bodies."""
CALLS, OVER, BEHIND = -2, -3, -5
"""What a process waits for that is no channel: what it calls, nothing as it is over, more of its trace."""

Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]


class Status(enum.IntEnum):
    """Why the engine came back."""

    DONE = 0
    DEADLOCK = 1
    HUNGRY = 2
    TOO_LONG = 3
    TOO_MUCH = 4


@functools.cache
def _library() -> ctypes.CDLL:
    library = load_library(
        _LIBRARY, _SOURCES, _HEADERS, "the model of regions", lambda lib: _is_current(lib)
    )
    for name in ("new", "end", "events", "last", "moves", "served", "waits"):
        getattr(library, f"allo_regions_{name}").restype = (
            ctypes.c_void_p if name == "new" else ctypes.c_int64
        )
    return library


def _is_current(library: ctypes.CDLL) -> bool:
    return hasattr(library, "allo_regions_abi") and library.allo_regions_abi() == _ABI


def _pointer(array: npt.NDArray[Any]) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)


class Engine:
    """One design's processes, regions and FIFOs in time."""

    def __init__(self) -> None:
        self._call = _library()
        self._handle = ctypes.c_void_p(self._call.allo_regions_new())
        self._kept: dict[tuple[str, int], Any] = {}
        self.fifos = self.channels = self.entities = self.processes = 0

    def __del__(self) -> None:
        self._call.allo_regions_free(self._handle)

    def add_fifos(self, rows: Sequence[tuple[int, bool]]) -> None:
        """FIFOs: the depth of each, and whether its other end is outside."""
        table = np.array(rows, np.int64).reshape(-1)
        self._call.allo_regions_fifos(self._handle, _pointer(table), ctypes.c_int64(len(rows)))
        self.fifos += len(rows)

    def fill(self, fifo: int, words: int) -> None:
        """How many words come in from outside through a FIFO."""
        self._call.allo_regions_fill(self._handle, fifo, ctypes.c_int64(words))

    def add_process(self, parent: int, slot: int) -> int:
        """A process in a region (``slot``: its position there), or one that another calls."""
        self.entities += 1
        self.processes += 1
        return int(self._call.allo_regions_process(self._handle, parent, slot))

    def add_channel(
        self, entity: int, fifo: int, putting: bool, buffer: int, late: int, called: bool
    ) -> None:
        """The next channel of a process."""
        self.channels += 1
        flags = int(putting), buffer, late, int(called)
        self._call.allo_regions_channel(self._handle, entity, fifo, *flags)

    def add_client(
        self, entity: int, port: int, rank: int, waits: bool, above: int, *, logged: bool = False
    ) -> int:
        """The next port of a memory that a process or a region asks for; its number.

        Args:
            port: one of the region around, -1 for a port that its users never ask for at once.
            rank: lower ones are served first.
            waits: whether another one may be served in its place.
            above: the client through which the region around asks for it, -1 for none.
            logged: whether the cycles in which it is served are kept.
        """
        row = port, rank, int(waits), above, int(logged)
        return int(self._call.allo_regions_client(self._handle, entity, *row))

    def add_child(self, entity: int, child: int) -> None:
        """A region that a process calls."""
        self._call.allo_regions_child(self._handle, entity, child)

    def add_region(self, parent: int, slot: int, turns: int) -> int:
        """A region; ``turns``: iterations of one that is a loop, or 0."""
        self.entities += 1
        turns_ = ctypes.c_int64(turns)
        return int(self._call.allo_regions_region(self._handle, parent, slot, turns_))

    def add_member(
        self, region: int, member: int, endless: bool, early: bool, after: Sequence[int]
    ) -> None:
        """The next member of a region."""
        table = np.array(after, np.int32)
        self._call.allo_regions_member(
            self._handle, region, member, int(endless), int(early), _pointer(table), len(after)
        )

    def add_need(self, region: int, first: int, second: int, distance: int) -> None:
        """How far the second member of a loop may be ahead of the end of the first."""
        self._call.allo_regions_need(self._handle, region, first, second, ctypes.c_int64(distance))

    def own(self, region: int, fifo: int) -> None:
        """A FIFO is emptied when a region starts."""
        self._call.allo_regions_own(self._handle, region, fifo)

    def set_variants(self, entity: int, code: Ints, starts: Longs) -> None:
        """The variants of the bodies of a process."""
        self._kept["variants", entity] = code, starts
        self._call.allo_regions_variants(
            self._handle, entity, _pointer(code), _pointer(starts), ctypes.c_int64(len(starts))
        )

    def set_trace(self, entity: int, records: Ints) -> None:
        """What a process does: pairs of a variant and how often, or of another record."""
        self._kept["trace", entity] = records
        size = ctypes.c_int64(len(records) // 2)
        self._call.allo_regions_trace(self._handle, entity, _pointer(records), size)

    def set_depths(self, depths: Longs) -> None:
        """The depths of all FIFOs."""
        self._call.allo_regions_depths(self._handle, _pointer(depths))

    def run(self, top: int, limit: int = 0, events: int = 0) -> Status:
        """Run from the start of ``top`` to its end, for so many cycles and events at most, 0 for any."""
        limits = ctypes.c_int64(limit), ctypes.c_int64(events)
        self._call.allo_regions_begin(self._handle, top, *limits)
        return self.resume()

    def keep_waits(self, keep: bool) -> None:
        """Whether the next runs keep every wait."""
        self._call.allo_regions_keep_waits(self._handle, int(keep))

    def resume(self) -> Status:
        """Go on after a process has got more of its trace."""
        return Status(self._call.allo_regions_run(self._handle))

    def hungry(self) -> int:
        """The process whose trace is at its end."""
        return int(self._call.allo_regions_hungry(self._handle))

    def feed(self, entity: int, records: Ints) -> None:
        """Give a hungry process its whole trace so far."""
        self._kept["trace", entity] = records
        size = ctypes.c_int64(len(records) // 2)
        self._call.allo_regions_feed(self._handle, entity, _pointer(records), size)

    def feed_more(self, entity: int, records: array[int]) -> None:
        """The same without a copy: they stay where they are until the process is fed again."""
        where, count = records.buffer_info()
        size = ctypes.c_int64(count // 2)
        self._call.allo_regions_feed(self._handle, entity, ctypes.c_void_p(where), size)

    def answer(self, entity: int) -> int:
        """Whether what a process has asked for last, without waiting, was there."""
        return int(self._call.allo_regions_answer(self._handle, entity))

    @property
    def end(self) -> int:
        """Cycles from start to end."""
        return int(self._call.allo_regions_end(self._handle))

    @property
    def last(self) -> int | None:
        """The last cycle in which a word passed outside, where a stream there has come to its end."""
        last = int(self._call.allo_regions_last(self._handle))
        return None if last < 0 else last

    @property
    def moves(self) -> int:
        """A number that grows with every word that enters or leaves a FIFO."""
        return int(self._call.allo_regions_moves(self._handle))

    @property
    def events(self) -> int:
        """Events of the last run."""
        return int(self._call.allo_regions_events(self._handle))

    def fills(self) -> tuple[Longs, Longs, Longs]:
        """Of each FIFO its highest fill, the words that passed, and the depth with which none waits."""
        most, words, wanted = (np.zeros(self.fifos, np.int64) for _ in range(3))
        made = (_pointer(array) for array in (most, words, wanted))
        self._call.allo_regions_fills(self._handle, *made)
        return most, words, wanted

    def stalls(self) -> tuple[Longs, Ints]:
        """Of each channel the cycles waited for it; of each process the channel it waits for now."""
        stalled, waits = np.zeros(self.channels, np.int64), np.zeros(self.processes, np.int32)
        self._call.allo_regions_stalls(self._handle, _pointer(stalled), _pointer(waits))
        return stalled, waits

    def times(self) -> tuple[Longs, Longs]:
        """Start and end of each process and region in its last run."""
        starts, ends = np.zeros(self.entities, np.int64), np.zeros(self.entities, np.int64)
        self._call.allo_regions_times(self._handle, _pointer(starts), _pointer(ends))
        return starts, ends

    def served(self) -> Longs:
        """Clients whose cycles are kept, and the cycles in which they were served."""
        count = int(self._call.allo_regions_served(self._handle, None))
        rows = np.zeros((count, 2), np.int64)
        self._call.allo_regions_served(self._handle, _pointer(rows))
        return rows

    def waits(self) -> Longs:
        """Every wait: channel, and the cycles from which and until which."""
        count = int(self._call.allo_regions_waits(self._handle, None))
        rows = np.zeros((count, 3), np.int64)
        self._call.allo_regions_waits(self._handle, _pointer(rows))
        return rows
