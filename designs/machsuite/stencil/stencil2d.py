"""MachSuite stencil/stencil2d, int32: a 3 × 3 filter over a flat picture."""

from __future__ import annotations

import numpy as np

import allo
from allo.customize import Schedule
from allo.ir.types import int32

# Rows, columns.
SIZES = {"tiny": (16, 8), "full": (128, 64)}


def stencil2d[R, C](orig: int32[R * C], filter: int32[9], sol: int32[R * C]):
    """Sums over windows, each at its window's corner; the last two rows and columns stay."""
    for r, c in allo.grid(R - 2, C - 2):
        temp: int32 = 0
        for k1, k2 in allo.reduction(3, 3):
            temp += filter[k1 * 3 + k2] * orig[(r + k1) * C + c + k2]
        sol[r * C + c] = temp


def schedule(size: tuple[int, ...]) -> Schedule:
    """A window a step, its filter in registers."""
    s = allo.customize(stencil2d, instantiate=list(size))
    s.pipeline("c")
    s.partition(s.filter)
    return s


def inputs(rng: np.random.Generator, size: tuple[int, ...]) -> tuple[np.ndarray, ...]:
    """A random picture, filter and old result, all over int32."""
    rows, cols = size
    shapes = (rows * cols, 9, rows * cols)
    return tuple(rng.integers(-(2**31), 2**31, n, np.int32) for n in shapes)


def reference(orig: np.ndarray, filter: np.ndarray, sol: np.ndarray) -> None:
    """All windows at once; sums wrap at 32 bits. The picture is as wide as the sizes say."""
    rows, cols = next(size for size in SIZES.values() if size[0] * size[1] == len(orig))
    windows = np.lib.stride_tricks.sliding_window_view(orig.reshape(rows, cols), (3, 3))
    result = np.einsum(
        "rcij,ij->rc", windows.astype(np.int64), filter.reshape(3, 3), dtype=np.int64
    )
    sol.reshape(rows, cols)[:-2, :-2] = result.astype(np.int32)
