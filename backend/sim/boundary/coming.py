"""Arrays that come in and leave while the core runs: how long one waits for the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from allo.backend.rtl.interfaces.early.leaving import PACE

AT_MOVING = 2
"""Cycles of a step through a port that the core has as well, while the core goes on."""


@dataclass(frozen=True, slots=True)
class Coming:
    """An array that is copied in early.

    Attributes:
        begins: the cycle in which its master is free for it.
        took: cycles that the bus brings its words in.
        latency: cycles until its first words are there.
        deadlines: by the steps of its copy that have come, the first cycle of the core that needs another.
        shares: whether steps go in through ports that the core has as well.
    """

    begins: float
    took: float
    latency: int
    deadlines: Sequence[float]
    shares: bool


@dataclass(frozen=True, slots=True)
class Late:
    """What such arrays cost.

    Attributes:
        waits: cycles that the core stands still.
        whole: when the last element is there.
    """

    waits: float
    whole: float


class _Copy:
    """A copy that goes on: its steps that have come, and when the last one of them did."""

    def __init__(self, coming: Coming) -> None:
        self.coming = coming
        self.steps = len(coming.deadlines) - 1
        self.come, self.last = 0, 0.0

    @property
    def begins(self) -> float:
        """When the next step begins: its words are there, and the one before it is in."""
        each = self.coming
        there = each.begins + each.latency + each.took * (self.come + 1) / self.steps
        return max(there - 1, self.last)

    @property
    def due(self) -> float:
        """The cycle of the core in front of which it waits for the next step."""
        return self.coming.deadlines[self.come]


def waits_for(coming: Sequence[Coming], begins: float) -> Late:
    """What the core waits, whose first cycle is ``begins``: the steps of all copies, one after the other."""
    waits = whole = 0.0
    going = [_Copy(each) for each in coming]
    while going:
        copy = min(going, key=lambda each: each.begins)
        start = copy.begins
        stands = start >= begins + waits + min(each.due for each in going)
        copy.last = start + (AT_MOVING if copy.coming.shares and not stands else 1)
        waits = max(waits, copy.last - begins - copy.due)
        copy.come += 1
        if copy.come == copy.steps:
            going.remove(copy)
            whole = max(whole, copy.last)
    return Late(waits, whole)


def leave_behind(ends: np.ndarray, took: float, first: float, core: tuple[float, float]) -> float:
    """When an array has left that leaves while the core runs.

    Args:
        ends: by element, the cycle in which the core writes it last.
        took: cycles of its copy.
        first: the cycle in which the copy may begin.
        core: the first cycle of the core, with what it has waited, and its end.
    """
    begins, over = core
    count, written = len(ends), np.maximum.accumulate(ends)
    done = np.where(written < written[-1], begins + written + PACE, over)
    there = np.maximum(first, done) + took * np.arange(count, 0, -1) / count
    return float(there.max())


__all__ = ["Coming", "Late", "leave_behind", "waits_for"]
