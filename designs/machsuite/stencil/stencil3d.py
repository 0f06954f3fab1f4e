"""MachSuite stencil/stencil3d, int32: centre and six neighbours, each weighted; the faces are copied."""

from __future__ import annotations

import numpy as np

import allo
from allo.customize import Schedule
from allo.ir.types import int32

# Height, columns, rows: the last runs fastest.
SIZES = {"tiny": (8, 8, 4), "full": (32, 32, 16)}


def stencil3d[H, C, R](weights: int32[2], orig: int32[H, C, R], sol: int32[H, C, R]):
    """``weights[0]`` times the centre and ``weights[1]`` times the sum of its neighbours."""
    for j, k in allo.grid(C, R, name="height"):
        sol[0, j, k] = orig[0, j, k]
        sol[H - 1, j, k] = orig[H - 1, j, k]
    for i, k in allo.grid(H - 2, R, name="columns"):
        sol[i + 1, 0, k] = orig[i + 1, 0, k]
        sol[i + 1, C - 1, k] = orig[i + 1, C - 1, k]
    for i, j in allo.grid(H - 2, C - 2, name="rows"):
        sol[i + 1, j + 1, 0] = orig[i + 1, j + 1, 0]
        sol[i + 1, j + 1, R - 1] = orig[i + 1, j + 1, R - 1]
    for i in range(1, H - 1, name="inside"):
        for j in range(1, C - 1):
            for k in range(1, R - 1):
                near: int32 = (
                    orig[i - 1, j, k]
                    + orig[i + 1, j, k]
                    + orig[i, j - 1, k]
                    + orig[i, j + 1, k]
                    + orig[i, j, k - 1]
                    + orig[i, j, k + 1]
                )
                sol[i, j, k] = orig[i, j, k] * weights[0] + near * weights[1]


def schedule(size: tuple[int, ...]) -> Schedule:
    """Each nest is one pipeline; planes of the picture lie in two banks."""
    s = allo.customize(stencil3d, instantiate=list(size))
    loops = s.get_loops()
    for band in ("height", "columns", "inside"):
        s.pipeline(loops[band]["k"])
    s.pipeline(loops["rows"]["j"])
    s.partition(s.orig, allo.Partition.Cyclic, dim=3, factor=2)
    s.partition(s.weights)
    return s


def inputs(rng: np.random.Generator, size: tuple[int, ...]) -> tuple[np.ndarray, ...]:
    """Random weights and a random box, all over int32."""
    weights = rng.integers(-(2**31), 2**31, 2, np.int32)
    return weights, rng.integers(-(2**31), 2**31, size, np.int32), np.zeros(size, np.int32)


def reference(weights: np.ndarray, orig: np.ndarray, sol: np.ndarray) -> None:
    """Shifted boxes; sums wrap at 32 bits."""
    sol[:] = orig
    inner = (slice(1, -1),) * 3
    near = np.zeros_like(orig)
    for axis in range(3):
        near += np.roll(orig, 1, axis) + np.roll(orig, -1, axis)
    sol[inner] = orig[inner] * weights[0] + near[inner] * weights[1]
