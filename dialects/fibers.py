"""What a run of the dataflow simulator tells of its processes, and the error for a deadlock.

The CPU's module and csim run on that simulator (``backend/runtime``). Each numbers its calls, FIFOs and
places, and a :class:`Network` holds what the numbers stand for.
"""

from __future__ import annotations

import ctypes
import enum
from collections.abc import Sequence
from dataclasses import dataclass

from .deadlock import Tried, deadlock_error, waits_for
from .diagnostics import DeadlockError, SourcePlace


class State(enum.IntEnum):
    """What a process is doing: ``enum class State`` of ``simulator.hpp``."""

    READY = 0
    PUTTING = 1
    GETTING = 2
    JOINING = 3
    FINISHED = 4
    TRYING_TO_PUT = 5
    TRYING_TO_GET = 6


_PUTTING = (State.PUTTING, State.TRYING_TO_PUT)
_GETTING = (State.GETTING, State.TRYING_TO_GET)
_TRYING = (State.TRYING_TO_PUT, State.TRYING_TO_GET)


class ProcessRecord(ctypes.Structure):
    """One process of a run that did not end: ``struct ProcessRecord`` of ``simulator.hpp``.

    Attributes:
        call: which call of the program it is; -1 for the run itself.
        parent: position of its parent's record; -1 for the run itself.
        region: number of the region it belongs to.
        state: a :class:`State`.
        site: which put or get it waits at, or tries; -1 for none.
        stream: the FIFO it waits for; -1 for one that the program does not declare.
        fifo_region: number of the region of that FIFO.
        fill: elements in it.
        depth: elements it holds.
    """

    call: int
    parent: int
    region: int
    state: int
    site: int
    stream: int
    fifo_region: int
    fill: int
    depth: int

    _fields_ = [
        (name, ctypes.c_int64)
        for name in (
            "call",
            "parent",
            "region",
            "state",
            "site",
            "stream",
            "fifo_region",
            "fill",
            "depth",
        )
    ]


GROWTHS, MOST_GROWN = 1 << 16, 1 << 12
"""How often FIFOs of a deadlocked run may grow by one element, and how many of them are told."""


@dataclass(frozen=True, slots=True)
class Growth:
    """What becomes of a deadlocked run when FIFOs grow that a process waits to put into.

    Attributes:
        depths: of those that have grown, by number of the stream.
        ended: whether the run then ended; None where that took too much.
        records: the processes, where it did not end.
    """

    depths: dict[int, int]
    ended: bool | None
    records: list[ProcessRecord]

    @classmethod
    def read(cls, words: Sequence[int], records: list[ProcessRecord]) -> Growth:
        """From the words of ``allo_run_grow`` (``backend/runtime/interface.cpp``)."""
        *pairs, verdict = words
        depths = dict(zip(pairs[::2], pairs[1::2], strict=True))
        return cls(depths, None if verdict < 0 else bool(verdict), records)


@dataclass(frozen=True, slots=True)
class FifoEnds:
    """A FIFO of the program.

    Attributes:
        producers, consumers: numbers of the calls at its ends; -1 for the region itself.
        rows: pieces in which an element travels.
        outside: what the outside of a stream argument has passed; "" for a FIFO of a region.
    """

    name: str
    producers: Sequence[int]
    consumers: Sequence[int]
    rows: int = 1
    outside: str = ""

    @property
    def called(self) -> str:
        """What messages call it."""
        return f"{'stream' if self.outside else 'FIFO'} {self.name}"


@dataclass(frozen=True, slots=True)
class Network:
    """What the numbers in records stand for: names of calls, places of puts and gets, FIFOs."""

    top: str
    place: SourcePlace | None
    calls: Sequence[str]
    sites: Sequence[SourcePlace | None]
    fifos: Sequence[FifoEnds]

    def deadlock(self, records: Sequence[ProcessRecord], growth: Growth) -> DeadlockError:
        """One note for every blocked process: where it waits, for which FIFO, what the other end does."""
        blocked = [r for r in records if r.state in (*_PUTTING, *_GETTING)]
        alive = [r for r in records if r.call >= 0 and r.state != State.FINISHED]
        return deadlock_error(
            self.top,
            self.place,
            [
                (self._describe(records, r), self.sites[r.site] if r.site >= 0 else None)
                for r in blocked
            ],
            max(len(alive), len(blocked)),
            [
                fifo.name
                for fifo in (self._fifo(r) for r in blocked if r.state in _PUTTING)
                if not fifo.outside
            ],
            tries=any(r.state in _TRYING for r in blocked),
            tried=Tried(growth.ended, self._depths(growth), self._cycle(growth.records)),
        )

    def _depths(self, growth: Growth) -> dict[str, int]:
        """The depths with which the run ends, by name; of FIFOs of one name the largest."""
        found: dict[str, int] = {}
        for number, depth in growth.depths.items():
            fifo = self.fifos[number]
            found[fifo.name] = max(found.get(fifo.name, 0), -(-depth // fifo.rows))
        return found

    def _cycle(self, records: Sequence[ProcessRecord]) -> list[str]:
        """Processes that wait for each other, each for the next, however deep the FIFOs are."""
        waiting = [r for r in records if r.state in (State.PUTTING, State.GETTING)]
        for start in waiting:
            path = [start]
            while (following := self._waits_for(records, path[-1])) is not None:
                if following in path:
                    return [self._name(records, r) for r in path[path.index(following) :]]
                path.append(following)
        return []

    def _waits_for(
        self, records: Sequence[ProcessRecord], record: ProcessRecord
    ) -> ProcessRecord | None:
        """The process at the other end of the FIFO that one waits for, if it waits, too."""
        if record.state not in (State.PUTTING, State.GETTING):
            return None
        fifo, putting = self._fifo(record), record.state in _PUTTING
        ends = fifo.consumers if putting else fifo.producers
        for other in records:
            if other.region == record.fifo_region and other.call in ends:
                return other if other.state in (State.PUTTING, State.GETTING) else None
        return None

    def _fifo(self, record: ProcessRecord) -> FifoEnds:
        if record.stream < 0:
            return FifoEnds("of its own", (), ())
        return self.fifos[record.stream]

    def _describe(self, records: Sequence[ProcessRecord], record: ProcessRecord) -> str:
        fifo = self._fifo(record)
        rows = fifo.rows
        if fifo.outside:
            doing = self._doing(record)
            return f"{self._name(records, record)} {doing}; its outside {fifo.outside}."
        return (
            f"{self._name(records, record)} {self._doing(record)} "
            f"({record.fill // rows} of {record.depth // rows} filled); "
            f"{self._other_end(records, record)}"
        )

    def _name(self, records: Sequence[ProcessRecord], record: ProcessRecord) -> str:
        """The process's name, after those of the processes whose regions it runs in."""
        if record.call < 0:
            return self.top
        name, parent = self.calls[record.call], records[record.parent]
        return name if parent.call < 0 else f"{self._name(records, parent)}/{name}"

    def _other_end(self, records: Sequence[ProcessRecord], record: ProcessRecord) -> str:
        fifo, putting = self._fifo(record), record.state in _PUTTING
        ends = fifo.consumers if putting else fifo.producers
        role = "reader" if putting else "writer"
        if not ends:
            return f"it has no {role}."
        for other in records:
            if other is record and len(ends) == 1 and other.call in ends:
                return f"its {role} is the same process."
            if other.region == record.fifo_region and other.call in ends:
                return f"its {role} {self._name(records, other)} {self._doing(other)}."
        if -1 in ends:
            return f"its {role} is the region itself."
        return f"its {role} {self.calls[ends[0]]} is not running."

    def _doing(self, record: ProcessRecord) -> str:
        if record.state == State.FINISHED:
            return "has finished"
        if record.state == State.JOINING:
            return "waits for the kernels of its own region"
        if record.state == State.READY:
            return "is running"
        putting, tries = record.state in _PUTTING, record.state in _TRYING
        return waits_for(putting, self._fifo(record).called, tries=tries)
