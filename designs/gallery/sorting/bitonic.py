"""Bitonic sort: 16 keys in every cycle.

Batcher's network sorts with comparisons whose places do not depend on the keys: runs of two, four,
eight and 16 keys are made bitonic and merged, in ten rows of eight exchanges.

Hardware: 80 comparators, each with two multiplexers, as a pipeline; 16 keys enter and 16 sorted keys
leave in every cycle.

Interval: nothing holds it up, because groups of keys do not depend on each other.

Source: K. E. Batcher, Sorting Networks and Their Applications, AFIPS Spring Joint Computer Conference,
1968.

Used in: packet switches, databases, median filters
"""

from __future__ import annotations

import numpy as np

import allo
from allo.customize import Schedule
from allo.ir.types import int32

GROUPS, KEYS = 32, 16


def exchanges() -> list[tuple[int, int]]:
    """Where the smaller and where the larger key of each exchange goes, row by row."""
    found = []
    for run in (2, 4, 8, 16):
        distance = run // 2
        while distance:
            for k in range(KEYS):
                if not k & distance:
                    pair = (k, k + distance)
                    found.append(pair[::-1] if k & run else pair)
            distance //= 2
    return found


EXCHANGES = len(exchanges())
lesser, greater = np.array(exchanges()).T


def bitonic(keys: int32[GROUPS, KEYS], out: int32[GROUPS, KEYS]):
    """Sort each of ``GROUPS`` groups of ``KEYS`` keys into ``out`` by Batcher's network.

    The smallest key comes first.
    """
    for g in range(GROUPS):
        x: int32[KEYS]
        for i in range(KEYS):
            x[i] = keys[g, i]
        with allo.meta_for(EXCHANGES) as e:
            low: int32 = min(x[lesser[e]], x[greater[e]])
            x[greater[e]] = max(x[lesser[e]], x[greater[e]])
            x[lesser[e]] = low
        for o in range(KEYS):
            out[g, o] = x[o]


def schedule() -> Schedule:
    """A group a cycle, each key in a bank of its own."""
    s = allo.customize(bitonic)
    s.pipeline("g")
    s.partition(s.x)
    s.partition(s.keys, dim=2)
    s.partition(s.out, dim=2)
    return s


def inputs(rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    """Random keys, some of them equal."""
    keys = rng.integers(-(2**31), 2**31, (GROUPS, KEYS), np.int32)
    keys[GROUPS // 2 :] %= 8
    return keys, np.zeros_like(keys)


def reference(keys: np.ndarray, out: np.ndarray) -> None:
    """NumPy's sort."""
    out[:] = np.sort(keys, axis=1)
