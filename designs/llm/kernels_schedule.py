"""The schedules of the kernels below the region, composed into it."""

from __future__ import annotations

from typing import Any


def schedule_norm(s: Any) -> Any:
    """One element a cycle; the eight running sums are registers."""
    s.partition(s.part)
    s.partition(s.square)
    for loop in ("lt", "ls", "j"):
        s.pipeline(loop)
    return s


def schedule_attend(s: Any) -> Any:
    """One key a cycle: a head's width of multipliers for scores, and of accumulators for values."""
    for array, dim in ((s.queries, 3), (s.keys, 4), (s.values, 4), (s.summed, 2), (s.acc, 1)):
        s.partition(array, dim=dim)
    for loop in ("cs", "cm"):
        s.unroll(loop)
    for loop in ("score", "mix", "hi", "c"):
        s.pipeline(loop)
    return s
