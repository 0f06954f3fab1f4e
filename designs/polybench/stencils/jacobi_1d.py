"""PolyBench jacobi-1d, float32: a three-point stencil between two arrays."""

from __future__ import annotations

import numpy as np

import allo
from allo.customize import Schedule
from allo.ir.types import float32

from ..steps import steps_of

SIZES = {"tiny": (3, 8), "mini": (20, 30), "small": (40, 120), "medium": (100, 400)}

third = 0.33333


def average3[T, N](source: T[N], target: T[N]):
    """Every inner element of ``target`` is the mean of three neighbours in ``source``."""
    for i in range(1, N - 1):
        target[i] = third * (source[i - 1] + source[i] + source[i + 1])


def jacobi_1d[T, S, N](A: T[N], B: T[N]):
    """``S`` steps from A to B and back."""
    for _ in range(S):
        average3[T, N](A, B)
        average3[T, N](B, A)


def schedule_average3(n: int) -> Schedule:
    """A window of three elements in registers: one read and one write a cycle."""
    s = allo.customize(average3, instantiate=[float32, n])
    window = s.reuse_at(s.source, "i")
    s.partition(window)
    s.pipeline("i")
    return s


def schedule(size: tuple[int, ...]) -> Schedule:
    """One pipelined sweep, used in both directions."""
    steps, n = size
    s = allo.customize(jacobi_1d, instantiate=[float32, steps, n])
    s.compose(schedule_average3(n))
    return s


def inputs(rng: np.random.Generator, size: tuple[int, ...]) -> tuple[np.ndarray, ...]:
    """Random A and B."""
    return tuple(rng.standard_normal(size[1], np.float32) for _ in range(2))


def reference(A: np.ndarray, B: np.ndarray) -> None:
    """The kernel in NumPy."""
    for _ in range(steps_of(SIZES, len(A))):
        for source, target in ((A, B), (B, A)):
            target[1:-1] = np.float32(third) * (source[:-2] + source[1:-1] + source[2:])
