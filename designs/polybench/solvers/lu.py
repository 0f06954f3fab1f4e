"""PolyBench lu: ``A = L @ U`` in place, without pivots; L has ones on its diagonal."""

from __future__ import annotations

import numpy as np

import allo
from allo.customize import Schedule
from allo.ir.types import AlloType, float32

from ..arguments import dominant
from ..eliminate import reference_eliminate

# N.
SIZES = {"tiny": (4,), "mini": (40,), "small": (120,), "medium": (400,)}


def lu[T, N](A: T[N, N]):
    """L below the diagonal of A, U on it and above."""
    for i in range(N):
        for j in range(i):
            for k in range(j):
                A[i, j] -= A[i, k] * A[k, j]
            A[i, j] /= A[j, j]
        for j1 in range(i, N):
            for k1 in range(i):
                A[i, j1] -= A[i, k1] * A[k1, j1]


def schedule(size: tuple[int, ...], element: AlloType = float32) -> Schedule:
    """Row i of U takes every row of U above it in turn, so that no sum waits for itself."""
    s = allo.customize(lu, instantiate=[element, *size])
    s.reorder("k1", "j1")
    s.pipeline("j1")
    s.pipeline("k")
    return s


def inputs(rng: np.random.Generator, size: tuple[int, ...]) -> tuple[np.ndarray, ...]:
    """A random matrix with a heavy diagonal."""
    return (dominant(rng, size[0]),)


def reference(A: np.ndarray) -> None:
    """The kernel in NumPy."""
    reference_eliminate(A)
