"""MachSuite sort/merge, int32: runs of doubling length are merged."""

from __future__ import annotations

import numpy as np

import allo
from allo.customize import Schedule
from allo.ir.types import int32

SIZES = {"tiny": (53,), "full": (2048,)}


def merge[N](a: int32[N], start: int32, mid: int32, stop: int32):
    """Merges the sorted runs ``start … mid`` and ``mid + 1 … stop`` of ``a``."""
    temp: int32[N]
    for u in range(start, mid + 1):
        temp[u] = a[u]
    for v in range(mid + 1, stop + 1):
        temp[mid + 1 + stop - v] = a[v]
    i: int32 = start
    j: int32 = stop
    for k in range(start, stop + 1):
        low: int32 = temp[i]
        high: int32 = temp[j]
        if high < low:
            a[k] = high
            j -= 1
        else:
            a[k] = low
            i += 1


def merge_sort[N](a: int32[N]):
    """Sorts ``a`` in place."""
    width: int32 = 1
    while width < N:
        for start in range(0, N - width, 2 * width):
            stop: int32 = min(start + 2 * width, N) - 1
            merge[N](a, start, start + width - 1, stop)
        width += width


def schedule(size: tuple[int, ...]) -> Schedule:
    """The three loops of a merge are pipelines."""
    s = allo.customize(merge_sort, instantiate=list(size))
    for loop in ("u", "v", "k"):
        s.pipeline(f"merge:{loop}")
    return s


def inputs(rng: np.random.Generator, size: tuple[int, ...]) -> tuple[np.ndarray, ...]:
    """Random numbers over all of int32, some of them equal."""
    numbers = rng.integers(-(2**31), 2**31, size, np.int32)
    numbers[::5] = numbers[0]
    return (numbers,)


def reference(a: np.ndarray) -> None:
    """NumPy's sort."""
    a.sort()
