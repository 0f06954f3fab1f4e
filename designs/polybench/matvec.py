"""Matrix times vector, added to a vector: the step that a third of PolyBench's kernels share."""

from __future__ import annotations

import numpy as np

import allo
from allo.customize import Schedule
from allo.ir.types import AlloType, float32, int32


def add_product[T: (float32, int32), M, N](A: T[M, N], x: T[N], y: T[M]):
    """``y += A @ x``."""
    for i in range(M):
        for j in allo.reduction(N):
            y[i] += A[i, j] * x[j]


def add_transposed_product[T: (float32, int32), M, N](A: T[M, N], x: T[M], y: T[N]):
    """``y += A.T @ x``, along the rows of A."""
    for i in allo.reduction(M):
        for j in range(N):
            y[j] += A[i, j] * x[i]


def schedule_add_product(element: AlloType, m: int, n: int) -> Schedule:
    """Down the columns of A, so that a sum rests for M cycles before it grows again."""
    s = allo.customize(add_product, instantiate=[element, m, n])
    s.reorder("j", "i")
    s.pipeline("i")
    return s


def schedule_add_transposed_product(element: AlloType, m: int, n: int) -> Schedule:
    """Along the rows of A, so that a sum rests for N cycles before it grows again."""
    s = allo.customize(add_transposed_product, instantiate=[element, m, n])
    s.pipeline("j")
    return s


def reference_add_product(A: np.ndarray, x: np.ndarray, y: np.ndarray) -> None:
    """``y += A @ x`` in NumPy, j ascending."""
    for column, factor in zip(A.T, x, strict=True):
        y += column * factor


def reference_add_transposed_product(A: np.ndarray, x: np.ndarray, y: np.ndarray) -> None:
    """``y += A.T @ x`` in NumPy, i ascending."""
    reference_add_product(A.T, x, y)
