"""PolyBench symm as a matrix product: ``alpha * A @ B + beta * C``, of A the lower triangle is read."""

from __future__ import annotations

import numpy as np

import allo
from allo.ir.types import float32, int32

from ..scale import reference_scale_sum, scale_sum
from .symm import SIZES, inputs


def symmetric_product[T: (float32, int32), M, N](A: T[M, M], B: T[M, N]) -> T[M, N]:
    """``A @ B``; an element of A above the diagonal is read where it also lies below."""
    out: T[M, N] = 0
    for i, j in allo.grid(M, N, name="product"):
        for k in allo.reduction(M):
            out[i, j] += (A[i, k] if k <= i else A[k, i]) * B[k, j]
    return out


def symm_product[T: (float32, int32), M, N](A: T[M, M], B: T[M, N], C: T[M, N]) -> T[M, N]:
    """``alpha * A @ B + beta * C``."""
    AB = symmetric_product[T, M, N](A, B)
    return scale_sum[T, M, N](AB, C)


def reference(A: np.ndarray, B: np.ndarray, C: np.ndarray) -> np.ndarray:
    """The kernel in NumPy."""
    return reference_scale_sum((np.tril(A) + np.tril(A, -1).T) @ B, C)


__all__ = ["SIZES", "inputs", "reference", "symm_product", "symmetric_product"]
