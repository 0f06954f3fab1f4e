"""PolyBench nussinov, int32: the best folding of an RNA sequence, by dynamic programming."""

from __future__ import annotations

import numpy as np

import allo
from allo.customize import Schedule
from allo.ir.types import int32

SIZES = {"tiny": (8,), "mini": (60,), "small": (180,), "medium": (500,)}


def match(left: int32, right: int32) -> int32:
    """1 if two bases pair, which are numbered so that pairs add up to 3."""
    return 1 if left + right == 3 else 0


def nussinov[N](seq: int32[N], table: int32[N, N]):
    """``table[i, j]`` becomes the most pairs in ``seq[i : j + 1]``."""
    for i in range(N - 1, -1, -1):
        for j in range(i + 1, N):
            best = table[i, j]
            if j - 1 >= 0:
                best = max(best, table[i, j - 1])
            if i + 1 < N:
                best = max(best, table[i + 1, j])
            if j - 1 >= 0 and i + 1 < N:
                if i < j - 1:
                    best = max(best, table[i + 1, j - 1] + match(seq[i], seq[j]))
                else:
                    best = max(best, table[i + 1, j - 1])
            for k in range(i + 1, j):
                both: int32 = table[i, k] + table[k + 1, j]
                best = max(best, both)
            table[i, j] = best


def schedule(size: tuple[int, ...]) -> Schedule:
    """The search for the best place to split a sequence is a pipeline."""
    s = allo.customize(nussinov, instantiate=[*size])
    s.pipeline("k")
    return s


def inputs(rng: np.random.Generator, size: tuple[int, ...]) -> tuple[np.ndarray, ...]:
    """A random sequence and an empty table."""
    (n,) = size
    return rng.integers(0, 4, n, np.int32), np.zeros((n, n), np.int32)


def reference(seq: np.ndarray, table: np.ndarray) -> None:
    """The kernel in NumPy."""
    n = len(seq)
    for i in reversed(range(n)):
        for j in range(i + 1, n):
            pair = int(i < j - 1 and seq[i] + seq[j] == 3)
            best = max(table[i, j], table[i, j - 1], table[i + 1, j], table[i + 1, j - 1] + pair)
            split = table[i, i + 1 : j] + table[i + 2 : j + 1, j]
            table[i, j] = max(best, split.max(initial=0))
