"""Whether a run still goes on: seen from outside, on the state of any engine.

Between slices of a run a model compares the design's state in consecutive cycles. A state that stays the
same while nothing outside changes stays so for ever. Memory and random stalls make a design wait
with its state unchanged, so it has to stay so for as many cycles as the outside can keep it
waiting. A loop that never ends and changes nothing shows as a state that comes back.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np

from allo.backend.rtl.design import HardwareDesign

from ..boundary.traffic import DRAM, TICKS, Outside

FIRST_SLICE = 4096
LARGEST_SLICE = 32_768
"""Cycles between two looks at least and at most."""
SETTLING = 3
"""Cycles in which memories that are not compared can still bring something new."""
LONGEST_PERIOD = 32
"""Cycles of the longest loop that is found to come back."""
RARELY = 8
"""How much longer a run must have become before a state that comes back is looked for again."""
UNLIKELY = 2.0**-64
"""The probability with which chance keeps a stream waiting longer than it is given."""
MARGIN = 64


class Progress(Enum):
    """What a look at a run finds."""

    MOVES = "moves"
    DONE = "done"
    STANDS = "stands"
    REPEATS = "repeats"


def patience_of(design: HardwareDesign, outside: Outside) -> int:
    """Cycles for which a design may have to wait for its outside without any change.

    A line is there after the channel's latency and the lines booked before it: for each port as many
    as it prefetches, and those of a word. Every line may meet a stall.
    """
    ports = sum(len(a.ports) for a in design.arrays if a.name in outside.memory)
    ports += len(outside.streams)
    channels = outside.channels.values()
    words = [*(a.width for a in design.arrays), *(s.width for s in design.streams), 1]
    ahead = max([1, *(c.lines_ahead + -(-max(words) // (8 * c.line_bytes)) for c in channels)])
    waits = [
        c.latency
        + (ports * ahead + 1) * (-(-c.line_ticks // TICKS) + (c.stall_cycles if c.stall else 0))
        for c in channels
    ]
    if dram := [c for c in channels if c.timing == DRAM]:
        from ..dram.ports import longest_wait

        waits.append(longest_wait(dram, ports * ahead + 1))
    chances = [s.stall for s in outside.streams.values() if s.stall]
    waits += [math.ceil(math.log(UNLIKELY) / math.log(stall)) for stall in chances]
    return SETTLING + (MARGIN + max(waits) if waits else 0)


@dataclass(slots=True)
class Watch:
    """Looks at one run.

    Attributes:
        state: the memory in which the design's registers lie.
        whole: all memory that says what the run does next, arrays included.
        moved: counts of words that passed to and from the outside.
        step: runs some cycles and says whether the run was done.
        patience: see :func:`patience_of`.
        steady: whether the outside behaves the same in every cycle.
        period: cycles after which the state came back, once it did.
    """

    state: Sequence[np.ndarray]
    whole: Sequence[np.ndarray]
    moved: Callable[[], list[int]]
    step: Callable[[int], bool]
    patience: int
    steady: bool
    period: int = 0
    _until: int = FIRST_SLICE

    def look(self, cycle: int) -> Progress:
        """Run a few cycles and say whether anything still happens; few of them if it does."""
        before, moved = _copy(self.state), self.moved()
        if self.step(1):
            return Progress.DONE
        if moved == self.moved() and _same(before, self.state):
            return self._stands(before, moved)
        if self.steady and cycle >= self._until:
            self._until = RARELY * cycle
            return self._repeats()
        return Progress.MOVES

    def _stands(self, before: list[np.ndarray], moved: list[int]) -> Progress:
        for _ in range(self.patience):
            if self.step(1):
                return Progress.DONE
            if moved != self.moved() or not _same(before, self.state):
                return Progress.MOVES
        return Progress.STANDS

    def _repeats(self) -> Progress:
        """Whether everything is after some cycles as it was."""
        before = _copy(self.state)
        period = 0
        while not period or not _same(before, self.state):
            if period == LONGEST_PERIOD:
                return Progress.MOVES
            if self.step(1):
                return Progress.DONE
            period += 1
        everything, moved = _copy(self.whole), self.moved()
        if self.step(period):
            return Progress.DONE
        if moved != self.moved() or not _same(everything, self.whole):
            return Progress.MOVES
        self.period = period
        return Progress.REPEATS


def _copy(parts: Sequence[np.ndarray]) -> list[np.ndarray]:
    return [part.copy() for part in parts]


def _same(before: Sequence[np.ndarray], now: Sequence[np.ndarray]) -> bool:
    return all(np.array_equal(a, b) for a, b in zip(before, now, strict=True))
