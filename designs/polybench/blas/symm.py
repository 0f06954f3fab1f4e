"""PolyBench symm: ``C = alpha * A @ B + beta * C`` for a symmetric A, of which the lower triangle is read."""

from __future__ import annotations

import numpy as np

import allo
from allo.customize import Schedule
from allo.ir.types import AlloType, float32, int32

from ..arguments import normal
from ..scale import alpha, beta

# M, N.
SIZES = {"tiny": (5, 6), "mini": (20, 30), "small": (60, 80), "medium": (200, 240)}
LANES = 2


def symm[T: (float32, int32), M, N](A: T[M, M], B: T[M, N], C: T[M, N]):
    """``C = alpha * A @ B + beta * C``: row i of A serves row i of C and, as a column, the rows above."""
    for i in range(M):
        total: T[N] = 0
        for j in range(N):
            for k in range(i):
                C[k, j] += alpha * B[i, j] * A[i, k]
                total[j] += B[k, j] * A[i, k]
        for j1 in range(N):
            C[i, j1] = beta * C[i, j1] + alpha * B[i, j1] * A[i, i] + alpha * total[j1]


def schedule(size: tuple[int, ...], element: AlloType = float32) -> Schedule:
    """Along the rows, where no sum waits for itself, ``LANES`` elements a cycle."""
    s = allo.customize(symm, instantiate=[element, *size])
    s.reorder("k", "j")
    for loop in ("j", "j1"):
        s.unroll(loop, factor=LANES)
        s.pipeline(loop)
    for array, dim in ((s.total, 1), (s.B, 2), (s.C, 2)):
        s.partition(array, partition_type=allo.Partition.Cyclic, dim=dim, factor=LANES)
    return s


def inputs(rng: np.random.Generator, size: tuple[int, ...]) -> tuple[np.ndarray, ...]:
    """Random A, B and C."""
    M, N = size
    return normal(rng, (M, M), (M, N), (M, N))


def reference(A: np.ndarray, B: np.ndarray, C: np.ndarray) -> None:
    """The kernel in NumPy."""
    a, b = np.float32(alpha), np.float32(beta)
    for i in range(len(A)):
        total = np.zeros(B.shape[1], B.dtype)
        for k in range(i):
            C[k] += a * B[i] * A[i, k]
            total += B[k] * A[i, k]
        C[i] = b * C[i] + a * B[i] * A[i, i] + a * total
