"""The schedules of the kernels below the region, composed into it."""

from __future__ import annotations

from typing import Any

from .stage import pipelined

schedule_norm = pipelined("lt ls j", "part square")


def schedule_attend(s: Any) -> Any:
    """One key a cycle: a head's width of multipliers for scores, and of accumulators for values."""
    for loop in ("cs", "cm"):
        s.unroll(loop)
    return pipelined("score mix hi c", queries=3, keys=4, values=4, summed=2, acc=1)(s)
