"""Regions of a design in time, as plain data: cycles, FIFOs and how full they get, who waits."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class FifoReport:
    """A FIFO of a region in a run that is foretold.

    Attributes:
        depth, width: words, and bits of a word.
        most: words that it holds at most at a time.
        words: words that pass.
        full: cycles that its producer waits because it is full.
        empty: cycles that its consumer waits for a word.
        resources: what one such FIFO takes of the device.
    """

    name: str
    depth: int
    width: int
    most: int
    words: int
    full: int
    empty: int
    resources: dict[str, int] = field(default_factory=dict)

    @property
    def bits(self) -> int:
        """Bits of its words."""
        return self.depth * self.width


@dataclass(frozen=True, slots=True)
class ProcessReport:
    """A process of a region: the cycles from the start of the region to its end (None: it has none), and of
    these the cycles in which it waits."""

    name: str
    cycles: int | None
    stalled: int


@dataclass(frozen=True, slots=True)
class ThrottleReport:
    """A FIFO that holds a process back: cycles of the longest chain of waits through the region.

    Attributes:
        full: whether the producer waits for room, and not the consumer for a word.
    """

    fifo: str
    process: str
    full: bool
    cycles: int


@dataclass(slots=True)
class RegionReport:
    """A region in a run that is foretold.

    Attributes:
        name: the region's function; ``path``: its instance, "" of the top.
        cycles: from its start to its end; None where that is not foretold, and ``reason`` says why.
        throttles: what holds up its end, the most first.
    """

    name: str
    path: str
    place: str
    cycles: int | None
    reason: str = ""
    fifos: list[FifoReport] = field(default_factory=list)
    processes: list[ProcessReport] = field(default_factory=list)
    throttles: list[ThrottleReport] = field(default_factory=list)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> RegionReport:
        """The report that ``dataclasses.asdict`` gave as plain data."""
        plain = dict(data)
        fifos = [FifoReport(**row) for row in plain.pop("fifos", [])]
        processes = [ProcessReport(**row) for row in plain.pop("processes", [])]
        throttles = [ThrottleReport(**row) for row in plain.pop("throttles", [])]
        return cls(**plain, fifos=fifos, processes=processes, throttles=throttles)
