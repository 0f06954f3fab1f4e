"""PolyBench durbin: the Yule-Walker equations, by Levinson and Durbin's recursion."""

from __future__ import annotations

import numpy as np

import allo
from allo.customize import Schedule
from allo.ir.types import AlloType, float32

# N.
SIZES = {"tiny": (4,), "mini": (40,), "small": (120,), "medium": (400,)}


def durbin[T, N](r: T[N], y: T[N]):
    """y solves the Toeplitz system whose first row is 1, r[0], … r[N - 2], for the right side -r."""
    z: T[N]
    y[0] = -r[0]
    beta: T = 1.0
    alpha: T = -r[0]
    for k in range(1, N):
        beta = (1 - alpha * alpha) * beta
        total: T = 0.0
        for i in range(k):
            total += r[k - i - 1] * y[i]
        alpha = -(r[k] + total) / beta
        for j in range(k):
            z[j] = y[j] + alpha * y[k - j - 1]
        for j1 in range(k):
            y[j1] = z[j1]
        y[k] = alpha


def schedule(size: tuple[int, ...], element: AlloType = float32) -> Schedule:
    """Every inner loop a pipeline."""
    s = allo.customize(durbin, instantiate=[element, *size])
    for loop in ("i", "j", "j1"):
        s.pipeline(loop)
    return s


def inputs(rng: np.random.Generator, size: tuple[int, ...]) -> tuple[np.ndarray, ...]:
    """Random r so small that the system is positive definite; y is overwritten."""
    n = size[0]
    r = (rng.uniform(-1, 1, n) / n).astype(np.float32)
    return r, rng.standard_normal(n, np.float32)


def reference(r: np.ndarray, y: np.ndarray) -> None:
    """The kernel in NumPy."""
    one = np.float32(1)
    y[0] = alpha = -r[0]
    beta = one
    for k in range(1, len(y)):
        beta = (one - alpha * alpha) * beta
        total = np.float32(0)
        for term in r[:k][::-1] * y[:k]:
            total += term
        alpha = -(r[k] + total) / beta
        y[:k] = y[:k] + alpha * y[:k][::-1]
        y[k] = alpha
