"""PolyBench jacobi-2d, float32: a five-point stencil between two arrays."""

from __future__ import annotations

import numpy as np

import allo
from allo.customize import Schedule
from allo.ir.types import float32

from ..steps import steps_of

SIZES = {"tiny": (2, 7), "mini": (20, 30), "small": (40, 90), "medium": (100, 250)}

fifth = 0.2


def average5[T, N](source: T[N, N], target: T[N, N]):
    """Every inner element of ``target`` is the mean of five neighbours in ``source``."""
    for i in range(1, N - 1):
        for j in range(1, N - 1):
            middle = source[i, j] + source[i, j - 1] + source[i, 1 + j]
            target[i, j] = fifth * (middle + source[1 + i, j] + source[i - 1, j])


def jacobi_2d[T, S, N](A: T[N, N], B: T[N, N]):
    """``S`` steps from A to B and back."""
    for _ in range(S):
        average5[T, N, "there"](A, B)
        average5[T, N, "back"](B, A)


def schedule_average5(n: int) -> Schedule:
    """Three rows in a line buffer and a window in registers: one read and one write a cycle."""
    s = allo.customize(average5, instantiate=[float32, n])
    rows = s.reuse_at(s.source, "i")
    window = s.reuse_at(rows, "j")
    s.partition(rows, dim=1)
    s.partition(window)
    s.pipeline("j")
    return s


def schedule(size: tuple[int, ...]) -> Schedule:
    """One pipelined sweep in each direction."""
    steps, n = size
    s = allo.customize(jacobi_2d, instantiate=[float32, steps, n])
    s.compose(schedule_average5(n), id="there")
    s.compose(schedule_average5(n), id="back")
    return s


def inputs(rng: np.random.Generator, size: tuple[int, ...]) -> tuple[np.ndarray, ...]:
    """Random A and B."""
    n = size[-1]
    return tuple(rng.standard_normal((n, n), np.float32) for _ in range(2))


def reference(A: np.ndarray, B: np.ndarray) -> None:
    """The kernel in NumPy."""
    for _ in range(steps_of(SIZES, len(A))):
        for source, target in ((A, B), (B, A)):
            middle = source[1:-1, 1:-1] + source[1:-1, :-2] + source[1:-1, 2:]
            target[1:-1, 1:-1] = np.float32(fifth) * (middle + source[2:, 1:-1] + source[:-2, 1:-1])
