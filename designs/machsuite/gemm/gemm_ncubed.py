"""MachSuite gemm/ncubed, float32: three loops on square matrices."""

from __future__ import annotations

import numpy as np

import allo
from allo.customize import Schedule
from allo.ir.types import float32

SIZES = {"tiny": (12,), "full": (64,)}


def gemm[N](A: float32[N, N], B: float32[N, N]) -> float32[N, N]:
    """``A @ B``."""
    C: float32[N, N] = 0
    for i, j in allo.grid(N, N):
        for k in allo.reduction(N):
            C[i, j] += A[i, k] * B[k, j]
    return C


def schedule(size: tuple[int, ...]) -> Schedule:
    """A row of C in a buffer, swept over by one multiplier and one adder."""
    s = allo.customize(gemm, instantiate=list(size))
    s.reorder("k", "j")
    s.buffer_at(s.C, axis="i")
    s.pipeline("j")
    return s


def inputs(rng: np.random.Generator, size: tuple[int, ...]) -> tuple[np.ndarray, ...]:
    """Random A and B."""
    (n,) = size
    return tuple(rng.standard_normal((2, n, n), np.float32))


def reference(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """The sum of outer products, k ascending."""
    C = np.zeros_like(A)
    for column, row in zip(A.T, B, strict=True):
        C += np.outer(column, row)
    return C
