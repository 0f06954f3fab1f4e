"""PolyBench doitgen: every row of a 3-d array times one matrix, in place."""

from __future__ import annotations

import numpy as np

import allo
from allo.customize import Schedule
from allo.ir.types import AlloType, float32, int32

from ..arguments import normal
from ..product import reference_product

# Q, R, P, S, where P = S.
SIZES = {
    "tiny": (3, 4, 5, 5),
    "mini": (8, 10, 12, 12),
    "small": (20, 25, 30, 30),
    "medium": (60, 70, 80, 80),
}


def doitgen[T: (float32, int32), Q, R, P, S](C4: T[S, P], A: T[R, Q, S]):
    """``A[r, q] = A[r, q] @ C4`` for every r and q."""
    for r, q in allo.grid(R, Q, name="rows"):
        total: T[P] = 0
        for p in range(P):
            for s in allo.reduction(S):
                total[p] += A[r, q, s] * C4[s, p]
        for p1 in range(P):
            A[r, q, p1] = total[p1]


def schedule(size: tuple[int, ...], element: AlloType = float32) -> Schedule:
    """All sums of a row side by side, so that none waits for itself, and the copy back a pipeline."""
    s = allo.customize(doitgen, instantiate=[element, *size])
    s.reorder("s", "p")
    s.pipeline("p")
    s.pipeline("p1")
    return s


def inputs(rng: np.random.Generator, size: tuple[int, ...]) -> tuple[np.ndarray, ...]:
    """Random C4 and A."""
    Q, R, P, S = size
    return normal(rng, (S, P), (R, Q, S))


def reference(C4: np.ndarray, A: np.ndarray) -> None:
    """The kernel in NumPy."""
    R, Q, S = A.shape
    A[:] = reference_product(A.reshape(R * Q, S), C4, np.float32).reshape(A.shape)
