"""PolyBench seidel-2d, float32: Gauss-Seidel sweeps of a nine-point mean, in place."""

from __future__ import annotations

import numpy as np

import allo
from allo.customize import Schedule
from allo.ir.types import float32

from ..steps import steps_of

SIZES = {"tiny": (2, 6), "mini": (20, 40), "small": (40, 120), "medium": (100, 400)}


def seidel_2d[T, S, N](A: T[N, N]):
    """``S`` sweeps; each element uses neighbours of this sweep and of the last."""
    for _ in range(S):
        for i in range(1, N - 1):
            for j in range(1, N - 1):
                A[i, j] = (
                    A[i - 1, j - 1]
                    + A[i - 1, j]
                    + A[i - 1, j + 1]
                    + A[i, j - 1]
                    + A[i, j]
                    + A[i, j + 1]
                    + A[i + 1, j - 1]
                    + A[i + 1, j]
                    + A[i + 1, j + 1]
                ) / 9.0


def schedule(size: tuple[int, ...]) -> Schedule:
    """Three rows can be read at once; the interval is the way from one element to its neighbour."""
    s = allo.customize(seidel_2d, instantiate=[float32, *size])
    s.partition(s.A, partition_type=allo.Partition.Cyclic, dim=1, factor=3)
    s.pipeline("j")
    return s


def inputs(rng: np.random.Generator, size: tuple[int, ...]) -> tuple[np.ndarray, ...]:
    """A random A."""
    n = size[-1]
    return (rng.standard_normal((n, n), np.float32),)


def reference(A: np.ndarray) -> None:
    """The kernel in NumPy: the elements with one 2i + j depend on none of each other."""
    n = len(A)
    step = n - 2
    flat = A.reshape(-1)
    around = (-n - 1, -n, 1 - n, -1, 0, 1, n - 1, n, n + 1)
    for _ in range(steps_of(SIZES, n)):
        for front in range(3, 3 * n - 5):
            first = max(1, (front - n + 3) // 2)
            last = min(n - 2, (front - 1) // 2)
            start, stop = first * step + front, last * step + front + 1
            total = flat[start - n - 1 : stop - n - 1 : step]
            for offset in around[1:]:
                total = total + flat[start + offset : stop + offset : step]
            flat[start:stop:step] = total / np.float32(9)
