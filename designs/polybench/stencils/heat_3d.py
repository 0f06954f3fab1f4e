"""PolyBench heat-3d, float32: the heat equation in three dimensions, between two arrays."""

from __future__ import annotations

import numpy as np

import allo
from allo.customize import Schedule
from allo.ir.types import float32

from ..steps import steps_of

SIZES = {"tiny": (2, 5), "mini": (20, 10), "small": (40, 20), "medium": (100, 40)}

eighth = 0.125


def diffuse[T, N](X: T[N, N, N], Y: T[N, N, N]):
    """One step from X to Y, inner elements only."""
    for i in range(1, N - 1):
        for j in range(1, N - 1):
            for k in range(1, N - 1):
                Y[i, j, k] = (
                    eighth * (X[i + 1, j, k] - 2.0 * X[i, j, k] + X[i - 1, j, k])
                    + eighth * (X[i, j + 1, k] - 2.0 * X[i, j, k] + X[i, j - 1, k])
                    + eighth * (X[i, j, k + 1] - 2.0 * X[i, j, k] + X[i, j, k - 1])
                    + X[i, j, k]
                )


def heat_3d[T, S, N](A: T[N, N, N], B: T[N, N, N]):
    """``S`` steps from A to B and back."""
    for _ in range(S):
        diffuse[T, N](A, B)
        diffuse[T, N](B, A)


def schedule_diffuse(n: int) -> Schedule:
    """Three planes, three rows of each and a window: one read and one write a cycle."""
    s = allo.customize(diffuse, instantiate=[float32, n])
    planes = s.reuse_at(s.X, "i")
    rows = s.reuse_at(planes, "j")
    window = s.reuse_at(rows, "k")
    s.partition(planes, dim=1)
    s.partition(rows, dim=1)
    s.partition(rows, dim=2)
    s.partition(window)
    s.pipeline("k")
    return s


def schedule(size: tuple[int, ...]) -> Schedule:
    """One pipelined sweep, used in both directions."""
    steps, n = size
    s = allo.customize(heat_3d, instantiate=[float32, steps, n])
    s.compose(schedule_diffuse(n))
    return s


def inputs(rng: np.random.Generator, size: tuple[int, ...]) -> tuple[np.ndarray, ...]:
    """Random A and B."""
    n = size[-1]
    return tuple(rng.standard_normal((n, n, n), np.float32) for _ in range(2))


def reference(A: np.ndarray, B: np.ndarray) -> None:
    """The kernel in NumPy."""
    two, scale = np.float32(2), np.float32(eighth)
    inner = (slice(1, -1),) * 3
    for _ in range(steps_of(SIZES, len(A))):
        for X, Y in ((A, B), (B, A)):
            twice = two * X[inner]
            Y[inner] = (
                scale * (X[2:, 1:-1, 1:-1] - twice + X[:-2, 1:-1, 1:-1])
                + scale * (X[1:-1, 2:, 1:-1] - twice + X[1:-1, :-2, 1:-1])
                + scale * (X[1:-1, 1:-1, 2:] - twice + X[1:-1, 1:-1, :-2])
                + X[inner]
            )
