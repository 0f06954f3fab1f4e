"""MachSuite gemm/blocked, float32: the product over blocks of columns and of k."""

from __future__ import annotations

import numpy as np

import allo
from allo.customize import Schedule
from allo.ir.types import float32

# Rows, rows of a block. MachSuite's own problem has 1024 rows; 128 keep NumPy's sums short.
SIZES = {"tiny": (16, 8), "full": (128, 8)}


def bbgemm[N, S](A: float32[N, N], B: float32[N, N], C: float32[N, N]):
    """``C += A @ B``."""
    for jj in range(0, N, S):
        for kk in range(0, N, S):
            for i in range(N):
                for k in range(S):
                    temp: float32 = A[i, k + kk]
                    for j in range(S):
                        C[i, j + jj] += temp * B[k + kk, j + jj]


def schedule(size: tuple[int, ...]) -> Schedule:
    """A row of a block at a time, over as many banks; k outside i, so that no sum waits for itself."""
    s = allo.customize(bbgemm, instantiate=list(size))
    block = size[1]
    s.reorder("k", "i")
    s.pipeline("i")
    s.partition(s.B, allo.Partition.Cyclic, dim=2, factor=block)
    s.partition(s.C, allo.Partition.Cyclic, dim=2, factor=block)
    return s


def inputs(rng: np.random.Generator, size: tuple[int, ...]) -> tuple[np.ndarray, ...]:
    """Random A, B and C."""
    n = size[0]
    return tuple(rng.standard_normal((3, n, n), np.float32))


def reference(A: np.ndarray, B: np.ndarray, C: np.ndarray) -> None:
    """The sum of outer products, k ascending."""
    for column, row in zip(A.T, B, strict=True):
        C += np.outer(column, row)
