"""PolyBench fdtd-2d, float32: electric and magnetic fields that drive each other."""

from __future__ import annotations

import numpy as np

import allo
from allo.customize import Schedule
from allo.ir.types import float32

SIZES = {"tiny": (4, 6, 8), "mini": (20, 20, 30), "small": (40, 60, 80), "medium": (100, 200, 240)}

half = 0.5
courant = 0.7


def fdtd_2d[T, S, X, Y](fict: T[S], ex: T[X, Y], ey: T[X, Y], hz: T[X, Y]):
    """``S`` steps; ``fict`` is the field at the border in each."""
    for t in range(S):
        for j0 in range(Y):
            ey[0, j0] = fict[t]
        for i1 in range(1, X):
            for j1 in range(Y):
                ey[i1, j1] = ey[i1, j1] - half * (hz[i1, j1] - hz[i1 - 1, j1])
        for i2 in range(X):
            for j2 in range(1, Y):
                ex[i2, j2] -= half * (hz[i2, j2] - hz[i2, j2 - 1])
        for i3, j3 in allo.grid(X - 1, Y - 1):
            hz[i3, j3] -= courant * (ex[i3, j3 + 1] - ex[i3, j3] + ey[i3 + 1, j3] - ey[i3, j3])


def schedule(size: tuple[int, ...]) -> Schedule:
    """Every sweep a pipeline."""
    s = allo.customize(fdtd_2d, instantiate=[float32, *size])
    for loop in ("j0", "j1", "j2", "j3"):
        s.pipeline(loop)
    return s


def inputs(rng: np.random.Generator, size: tuple[int, ...]) -> tuple[np.ndarray, ...]:
    """Random fields and border."""
    steps, rows, columns = size
    fields = [rng.standard_normal((rows, columns), np.float32) for _ in range(3)]
    return rng.standard_normal(steps, np.float32), *fields


def reference(fict: np.ndarray, ex: np.ndarray, ey: np.ndarray, hz: np.ndarray) -> None:
    """The kernel in NumPy."""
    for border in fict:
        ey[0] = border
        ey[1:] -= np.float32(half) * (hz[1:] - hz[:-1])
        ex[:, 1:] -= np.float32(half) * (hz[:, 1:] - hz[:, :-1])
        hz[:-1, :-1] -= np.float32(courant) * (
            ex[:-1, 1:] - ex[:-1, :-1] + ey[1:, :-1] - ey[:-1, :-1]
        )
