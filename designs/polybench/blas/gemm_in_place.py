"""PolyBench gemm of any size: ``C = alpha * A @ B + beta * C``."""

from __future__ import annotations

import numpy as np

import allo
from allo.customize import Schedule
from allo.ir.types import AlloType, float32, int32

from ..arguments import normal
from ..scale import alpha, beta

# P, Q, R of (P, Q) @ (Q, R).
SIZES = {
    "tiny": (4, 6, 5),
    "mini": (20, 30, 25),
    "small": (60, 80, 70),
    "medium": (200, 240, 220),
}


def gemm[T: (float32, int32), P, Q, R](A: T[P, Q], B: T[Q, R], C: T[P, R]):
    """``C = alpha * A @ B + beta * C``, a row of C at a time."""
    for i in range(P):
        for j in range(R):
            C[i, j] *= beta
        for k in allo.reduction(Q):
            for j1 in range(R):
                C[i, j1] += alpha * A[i, k] * B[k, j1]


def schedule(size: tuple[int, ...], element: AlloType = float32) -> Schedule:
    """A pipeline along each row of C, in which no sum waits for itself."""
    s = allo.customize(gemm, instantiate=[element, *size])
    s.pipeline("j")
    s.pipeline("j1")
    return s


def inputs(rng: np.random.Generator, size: tuple[int, ...]) -> tuple[np.ndarray, ...]:
    """Random A, B and C."""
    P, Q, R = size
    return normal(rng, (P, Q), (Q, R), (P, R))


def reference(A: np.ndarray, B: np.ndarray, C: np.ndarray) -> None:
    """The kernel in NumPy, k ascending."""
    C *= np.float32(beta)
    for column, row in zip(A.T, B, strict=True):
        C += (np.float32(alpha) * column)[:, None] * row
