"""MachSuite spmv/crs, float64: a sparse matrix in compressed rows times a vector."""

from __future__ import annotations

import numpy as np

import allo
from allo.customize import Schedule
from allo.ir.types import float64, int32

# Rows, row bounds, nonzeros.
SIZES = {"tiny": (32, 33, 96), "full": (494, 495, 1666)}


def crs[N, R, Z](val: float64[Z], cols: int32[Z], rows: int32[R], vec: float64[N], out: float64[N]):
    """``out = matrix @ vec``."""
    for i in range(N):
        total: float64 = 0.0
        for j in range(rows[i], rows[i + 1]):
            total += val[j] * vec[cols[j]]
        out[i] = total


def schedule(size: tuple[int, ...]) -> Schedule:
    """The sum over a row is a pipeline."""
    s = allo.customize(crs, instantiate=list(size))
    s.pipeline("j")
    return s


def inputs(rng: np.random.Generator, size: tuple[int, ...]) -> tuple[np.ndarray, ...]:
    """Nonzeros in random places, ordered; some rows are empty."""
    n, _, nonzeros = size
    places = np.sort(rng.choice(n * n, nonzeros, replace=False))
    rows = np.searchsorted(places, n * np.arange(n + 1)).astype(np.int32)
    cols = (places % n).astype(np.int32)
    return rng.standard_normal(nonzeros), cols, rows, rng.standard_normal(n), np.zeros(n)


def reference(
    val: np.ndarray, cols: np.ndarray, rows: np.ndarray, vec: np.ndarray, out: np.ndarray
) -> None:
    """All nonzeros at once, added to their rows in order."""
    out[:] = 0
    np.add.at(out, np.repeat(np.arange(len(out)), np.diff(rows)), val * vec[cols])
