"""PolyBench ludcmp: ``A @ x = b`` solved by elimination without pivots."""

from __future__ import annotations

import numpy as np

import allo
from allo.customize import Schedule
from allo.ir.types import AlloType, float32

from ..arguments import dominant, normal
from ..eliminate import reference_eliminate

# N.
SIZES = {"tiny": (4,), "mini": (40,), "small": (120,), "medium": (400,)}


def decompose[T, N](A: T[N, N]):
    """A becomes its factors L and U; each sum is kept in a scalar."""
    for i in range(N):
        for j in range(i):
            w: T = A[i, j]
            for k in range(j):
                w -= A[i, k] * A[k, j]
            A[i, j] = w / A[j, j]
        for j1 in range(i, N):
            w: T = A[i, j1]
            for k1 in range(i):
                w -= A[i, k1] * A[k1, j1]
            A[i, j1] = w


def solve_lower[T, N](A: T[N, N], b: T[N], y: T[N]):
    """``L @ y = b``, ones on the diagonal of L."""
    for i in range(N):
        w: T = b[i]
        for j in range(i):
            w -= A[i, j] * y[j]
        y[i] = w


def solve_upper[T, N](A: T[N, N], y: T[N], x: T[N]):
    """``U @ x = y``, from the last row up."""
    for i in range(N - 1, -1, -1):
        w: T = y[i]
        for j in range(i + 1, N):
            w -= A[i, j] * x[j]
        x[i] = w / A[i, i]


def ludcmp[T, N](b: T[N], A: T[N, N], x: T[N], y: T[N]):
    """``A @ x = b``; A becomes its factors."""
    decompose[T, N](A)
    solve_lower[T, N](A, b, y)
    solve_upper[T, N](A, y, x)


def schedule(size: tuple[int, ...], element: AlloType = float32) -> Schedule:
    """Every sum a pipeline."""
    template = [element, *size]
    lower = allo.customize(solve_lower, instantiate=template)
    lower.pipeline("j")
    upper = allo.customize(solve_upper, instantiate=template)
    upper.pipeline("j")
    s = allo.customize(ludcmp, instantiate=template)
    s.compose([lower, upper])
    s.pipeline("decompose:k")
    s.pipeline("decompose:k1")
    return s


def inputs(rng: np.random.Generator, size: tuple[int, ...]) -> tuple[np.ndarray, ...]:
    """A random system with a heavy diagonal; x and y are overwritten."""
    n = size[0]
    (b, x, y) = normal(rng, (n,), (n,), (n,))
    return b, dominant(rng, n), x, y


def reference(b: np.ndarray, A: np.ndarray, x: np.ndarray, y: np.ndarray) -> None:
    """The kernel in NumPy."""
    reference_eliminate(A)
    y[:] = b
    for j in range(len(y)):
        y[j + 1 :] -= A[j + 1 :, j] * y[j]
    for i in reversed(range(len(x))):
        w = y[i]
        for term in A[i, i + 1 :] * x[i + 1 :]:
            w -= term
        x[i] = w / A[i, i]
