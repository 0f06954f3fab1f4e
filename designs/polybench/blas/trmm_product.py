"""PolyBench trmm, its sums in an array of their own: ``B = alpha * A.T @ B``, ones on A's diagonal."""

from __future__ import annotations

import allo
from allo.ir.types import float32, int32

from ..scale import alpha
from .trmm import SIZES, inputs, reference


def rows_below[T: (float32, int32), M, N](A: T[M, M], B: T[M, N]) -> T[M, N]:
    """For every row of B the sum of those below it from the last one up, weighted by a column of A."""
    out: T[M, N] = 0
    for i, j in allo.grid(M, N, name="product"):
        for k in range(M - 1 - i):
            out[i, j] += A[M - 1 - k, i] * B[M - 1 - k, j]
    return out


def trmm_product[T: (float32, int32), M, N](A: T[M, M], B: T[M, N]):
    """``B = alpha * A.T @ B``."""
    below = rows_below[T, M, N](A, B)
    for i, j in allo.grid(M, N, name="scale"):
        B[i, j] = alpha * (B[i, j] + below[i, j])


__all__ = ["SIZES", "inputs", "reference", "rows_below", "trmm_product"]
