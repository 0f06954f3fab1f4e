"""PolyBench 2mm of any size: ``D = alpha * A @ B @ C + beta * D``."""

from __future__ import annotations

import numpy as np

import allo
from allo.customize import Schedule
from allo.ir.types import AlloType, float32, int32

from ..arguments import normal
from ..scale import alpha, beta

# P, R, Q, S of (P, Q) @ (Q, R) @ (R, S).
SIZES = {
    "tiny": (4, 5, 6, 7),
    "mini": (16, 18, 22, 24),
    "small": (40, 50, 70, 80),
    "medium": (180, 190, 210, 220),
}


def two_mm[T: (float32, int32), P, R, Q, S](A: T[P, Q], B: T[Q, R], C: T[R, S], D: T[P, S]):
    """``D = alpha * A @ B @ C + beta * D``."""
    AB: T[P, R]
    for i, j in allo.grid(P, R, name="first"):
        AB[i, j] = 0
        for k in allo.reduction(Q):
            AB[i, j] += alpha * A[i, k] * B[k, j]
    for i, j in allo.grid(P, S, name="second"):
        D[i, j] *= beta
        for k in allo.reduction(R):
            D[i, j] += AB[i, k] * C[k, j]


def schedule(size: tuple[int, ...], element: AlloType = float32) -> Schedule:
    """Every sum a pipeline."""
    s = allo.customize(two_mm, instantiate=[element, *size])
    loops = s.get_loops()
    s.pipeline(loops.first.k)
    s.pipeline(loops.second.k)
    return s


def inputs(rng: np.random.Generator, size: tuple[int, ...]) -> tuple[np.ndarray, ...]:
    """Random A, B, C and D."""
    P, R, Q, S = size
    return normal(rng, (P, Q), (Q, R), (R, S), (P, S))


def reference(A: np.ndarray, B: np.ndarray, C: np.ndarray, D: np.ndarray) -> None:
    """The kernel in NumPy, k ascending in both products."""
    AB = np.zeros((len(A), B.shape[1]), np.float32)
    for column, row in zip(A.T, B, strict=True):
        AB += (np.float32(alpha) * column)[:, None] * row
    D *= np.float32(beta)
    for column, row in zip(AB.T, C, strict=True):
        D += column[:, None] * row
