"""Prefix sum: the running total of a sequence, eight elements a cycle.

`y[i] = x[0] + … + x[i]`. Eight elements enter together. A Kogge-Stone network adds to every lane the
lane one, then two, then four places to its left, which gives the running totals inside the eight;
the total of all before is added at the end.

Hardware: three rows of adders in a pipeline, a register with the carry, and a last row that adds it.

Interval: nothing holds it up. The only thing that passes from one group to the next is the carry,
and it takes one addition.

Source: P. M. Kogge and H. S. Stone, A Parallel Algorithm for the Efficient Solution of a General
Class of Recurrence Equations, IEEE Transactions on Computers, 1973.

Used in: stream compaction, radix sort, integral images
"""

from __future__ import annotations

import numpy as np

import allo
from allo.customize import Schedule
from allo.ir.types import int32

N, LANES, STEPS = 512, 8, 3


def prefix_sum(x: int32[N]) -> int32[N]:
    """``y[i] = x[0] + … + x[i]``, modulo 2^32, ``LANES`` elements at a time (Kogge and Stone)."""
    y: int32[N]
    carry: int32 = 0
    for group in range(N // LANES):
        part: int32[LANES]
        for lane in range(LANES):
            part[lane] = x[group * LANES + lane]
        with allo.meta_for(STEPS) as k:
            for to in range(LANES - 1, (1 << k) - 1, -1):
                part[to] += part[to - (1 << k)]
        for last in range(LANES):
            y[group * LANES + last] = part[last] + carry
        carry += part[LANES - 1]
    return y


def schedule() -> Schedule:
    """A group a cycle: arrays spread over eight banks, lanes in registers."""
    s = allo.customize(prefix_sum)
    s.pipeline("group")
    s.partition(s.part)
    s.partition(s.x, partition_type=allo.Partition.Cyclic, dim=1, factor=LANES)
    s.partition(s.y, partition_type=allo.Partition.Cyclic, dim=1, factor=LANES)
    return s


def inputs(rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    """Random numbers."""
    return (rng.integers(-(2**20), 2**20, N, np.int32),)


def reference(x: np.ndarray) -> np.ndarray:
    """NumPy's cumulative sum."""
    return np.cumsum(x, dtype=np.int32)
