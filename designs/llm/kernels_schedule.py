"""The schedules of the kernels below the region, composed into it."""

from __future__ import annotations

from typing import Any

from .stage import pipelined

schedule_norm = pipelined("lt ls j", "part square", affine=1)


schedule_divide = pipelined("c")


def _split_cache(s: Any) -> Any:
    """Keys and values in memories of their own, an element of a head in each."""
    for dim in (1, 5):
        s.partition(f"{s.top_func_name}:cache", dim=dim)
    return s


def schedule_split(s: Any) -> Any:
    """A value of q, k or v a cycle."""
    return pipelined("qkv", queries=3)(_split_cache(s))


def schedule_score(s: Any) -> Any:
    """One key a cycle: a head's width of multipliers."""
    s.unroll("cs")
    return pipelined("score", queries=3)(_split_cache(s))


def schedule_mix(s: Any) -> Any:
    """One value a cycle: a head's width of multipliers and accumulators."""
    s.unroll("cm")
    return pipelined("mix", summed=2, acc=1)(_split_cache(s))
