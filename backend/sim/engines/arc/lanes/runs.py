"""Runs: lanes of one shape whose places in the state lie at equal distances, and the order to do them in."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from .body import Lane

FEWEST = 8
"""Lanes of a run."""


@dataclass(slots=True, eq=False)
class Run:
    """Lanes in the order in which a loop does them.

    Attributes:
        strides: from lane to lane, the distance of each place.
    """

    lanes: list[Lane]
    strides: list[int]

    def turned(self) -> Run:
        """The same lanes in opposite order."""
        return Run(self.lanes[::-1], [-stride for stride in self.strides])


def find_runs(lanes: Sequence[Lane]) -> list[Run]:
    """Runs that may be done one after the other, behind what all else reads and in front of what it writes.

    A loop does a lane before the next one begins. So no lane may read what an earlier one of its run, or
    an earlier run, has written.
    """
    shapes: dict[object, list[Lane]] = defaultdict(list)
    for lane in lanes:
        shapes[lane.shape].append(lane)
    found = []
    for alike in shapes.values():
        if len(alike) < FEWEST:
            continue
        for run in _regular(sorted(alike, key=lambda lane: lane.written[0])):
            found += [turned for turned in (run, run.turned()) if _reads_first(turned)][:1]
    return _ordered(found)


def _regular(lanes: list[Lane]) -> Iterator[Run]:
    """The longest runs of lanes at equal distances, from the front."""
    start = 0
    while start + FEWEST <= len(lanes):
        strides = _distances(lanes[start], lanes[start + 1])
        end = start + 2
        while end < len(lanes) and _distances(lanes[end - 1], lanes[end]) == strides:
            end += 1
        if end - start >= FEWEST:
            yield Run(lanes[start:end], strides)
            start = end
        else:
            start = max(start + 1, end - 1)


def _distances(one: Lane, other: Lane) -> list[int]:
    return [b - a for a, b in zip(one.places, other.places, strict=True)]


def _reads_first(run: Run) -> bool:
    """Whether no lane reads what one before it writes."""
    written: set[int] = set()
    for lane in run.lanes:
        if not written.isdisjoint(lane.read):
            return False
        written.update(lane.written)
    return True


def _ordered(runs: list[Run]) -> list[Run]:
    """The runs, each before those that write what it reads.

    Where there is no such order, the shortest runs are left out until there is one.
    """
    writer = {state: run for run in runs for lane in run.lanes for state in lane.written}
    later: dict[Run, set[Run]] = {run: set() for run in runs}
    for run in runs:
        for lane in run.lanes:
            later[run].update(writer[state] for state in lane.read if state in writer)
        later[run].discard(run)
    ordered: list[Run] = []
    waiting = dict.fromkeys(runs)
    while waiting:
        held = {other for run in waiting for other in later[run] if other in waiting}
        free = [run for run in waiting if run not in held]
        if not free:
            del waiting[min(waiting, key=lambda run: len(run.lanes))]
            continue
        ordered += free
        for run in free:
            del waiting[run]
    return ordered
