"""PolyBench gramschmidt: ``A = Q @ R`` by the modified Gram-Schmidt process."""

from __future__ import annotations

import numpy as np

import allo
from allo.customize import Schedule
from allo.ir.types import AlloType, float32

from ..arguments import normal

# M, N. With fewer rows than columns, as PolyBench has it, the last columns of Q are rounding noise:
# not in "tiny", where they might be exactly zero.
SIZES = {"tiny": (6, 5), "mini": (20, 30), "small": (60, 80), "medium": (200, 240)}


def gramschmidt[T, M, N](A: T[M, N], R: T[N, N], Q: T[M, N]):
    """The columns of A, made orthonormal in Q; R above and on its diagonal. A is used up."""
    for k in range(N):
        norm: T = 0.0
        for i in range(M):
            norm += A[i, k] * A[i, k]
        R[k, k] = allo.sqrt(norm)
        for i1 in range(M):
            Q[i1, k] = A[i1, k] / R[k, k]
        for j in range(k + 1, N):
            R[k, j] = 0.0
            for i2 in range(M):
                R[k, j] += Q[i2, k] * A[i2, j]
            for i3 in range(M):
                A[i3, j] = A[i3, j] - Q[i3, k] * R[k, j]


def schedule(size: tuple[int, ...], element: AlloType = float32) -> Schedule:
    """Every inner loop a pipeline."""
    s = allo.customize(gramschmidt, instantiate=[element, *size])
    for loop in ("i", "i1", "i2", "i3"):
        s.pipeline(loop)
    return s


def inputs(rng: np.random.Generator, size: tuple[int, ...]) -> tuple[np.ndarray, ...]:
    """Random A; Q and R above its diagonal are overwritten."""
    M, N = size
    return normal(rng, (M, N), (N, N), (M, N))


def reference(A: np.ndarray, R: np.ndarray, Q: np.ndarray) -> None:
    """The kernel in NumPy, all columns right of k at once."""
    for k in range(A.shape[1]):
        norm = np.float32(0)
        for square in A[:, k] * A[:, k]:
            norm += square
        R[k, k] = np.sqrt(norm)
        Q[:, k] = A[:, k] / R[k, k]
        R[k, k + 1 :] = 0
        for q, row in zip(Q[:, k], A[:, k + 1 :], strict=True):
            R[k, k + 1 :] += q * row
        A[:, k + 1 :] -= Q[:, k : k + 1] * R[k, k + 1 :]
