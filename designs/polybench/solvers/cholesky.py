"""PolyBench cholesky: ``A = L @ L.T`` in place, L in the lower triangle."""

from __future__ import annotations

import numpy as np

import allo
from allo.customize import Schedule
from allo.ir.types import AlloType, float32

from ..arguments import positive_definite

# N.
SIZES = {"tiny": (4,), "mini": (40,), "small": (120,), "medium": (400,)}


def cholesky[T, N](A: T[N, N]):
    """The lower triangle of A becomes its Cholesky factor; the upper one stays."""
    for i in range(N):
        for j in range(i):
            for k in range(j):
                A[i, j] -= A[i, k] * A[j, k]
            A[i, j] /= A[j, j]
        for kd in range(i):
            A[i, i] -= A[i, kd] * A[i, kd]
        A[i, i] = allo.sqrt(A[i, i])


def schedule(size: tuple[int, ...], element: AlloType = float32) -> Schedule:
    """The sums over k as pipelines."""
    s = allo.customize(cholesky, instantiate=[element, *size])
    s.pipeline("k")
    s.pipeline("kd")
    return s


def inputs(rng: np.random.Generator, size: tuple[int, ...]) -> tuple[np.ndarray, ...]:
    """A random positive definite matrix."""
    return (positive_definite(rng, size[0]),)


def reference(A: np.ndarray) -> None:
    """The kernel in NumPy, a column at a time: each element still subtracts in order of k."""
    for k in range(len(A)):
        A[k, k] = np.sqrt(A[k, k])
        column = A[k + 1 :, k]
        column /= A[k, k]
        A[k + 1 :, k + 1 :] -= np.tril(column[:, None] * column)
