"""MachSuite spmv/ellpack, float64: a sparse matrix with as many nonzeros in every row times a vector."""

from __future__ import annotations

import numpy as np

import allo
from allo.customize import Schedule
from allo.ir.types import float64, int32

# Rows, nonzeros of a row.
SIZES = {"tiny": (32, 4), "full": (494, 10)}


def ellpack[N, L](nzval: float64[N * L], cols: int32[N * L], vec: float64[N], out: float64[N]):
    """``out += matrix @ vec``."""
    for i in range(N):
        total: float64 = out[i]
        for j in range(L):
            total += nzval[j + i * L] * vec[cols[j + i * L]]
        out[i] = total


def schedule(size: tuple[int, ...]) -> Schedule:
    """The nest is one pipeline."""
    s = allo.customize(ellpack, instantiate=list(size))
    s.pipeline("j")
    return s


def inputs(rng: np.random.Generator, size: tuple[int, ...]) -> tuple[np.ndarray, ...]:
    """Nonzeros in random columns of each row."""
    n, length = size
    cols = np.array([rng.choice(n, length, replace=False) for _ in range(n)], np.int32).reshape(-1)
    return rng.standard_normal(n * length), cols, rng.standard_normal(n), rng.standard_normal(n)


def reference(nzval: np.ndarray, cols: np.ndarray, vec: np.ndarray, out: np.ndarray) -> None:
    """A column of nonzeros at a time."""
    products = (nzval * vec[cols]).reshape(len(out), -1)
    for column in products.T:
        out += column
