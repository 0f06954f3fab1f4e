"""The last step of PolyBench's products: scale, and add the scaled old value."""

from __future__ import annotations

import numpy as np

import allo

alpha = 1.5
beta = 1.2


def scale_sum[T, M, N](X: T[M, N], Y: T[M, N]) -> T[M, N]:
    """``alpha * X + beta * Y``."""
    out: T[M, N]
    for i, j in allo.grid(M, N, name="scale"):
        out[i, j] = alpha * X[i, j] + beta * Y[i, j]
    return out


def reference_scale_sum(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """The kernel in NumPy."""
    return np.float32(alpha) * X + np.float32(beta) * Y
