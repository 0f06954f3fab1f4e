"""PolyBench atax: ``y = A.T @ (A @ x)``."""

from __future__ import annotations

import numpy as np

import allo
from allo.customize import Schedule
from allo.ir.types import AlloType, float32, int32

from ..arguments import normal
from ..matvec import (
    add_product,
    add_transposed_product,
    reference_add_product,
    reference_add_transposed_product,
    schedule_add_product,
    schedule_add_transposed_product,
)

# M, N.
SIZES = {"tiny": (5, 6), "mini": (38, 42), "small": (116, 124), "medium": (390, 410)}


def atax[T: (float32, int32), M, N](A: T[M, N], x: T[N], y: T[N]):
    """``y = A.T @ (A @ x)``."""
    tmp: T[M] = 0
    add_product[T, M, N](A, x, tmp)
    for j in range(N):
        y[j] = 0
    add_transposed_product[T, M, N](A, tmp, y)


def schedule(size: tuple[int, ...], element: AlloType = float32) -> Schedule:
    """Two pipelined products, each in the order in which no sum waits for itself."""
    s = allo.customize(atax, instantiate=[element, *size])
    s.compose(schedule_add_product(element, *size))
    s.compose(schedule_add_transposed_product(element, *size))
    s.pipeline("atax:j")
    return s


def inputs(rng: np.random.Generator, size: tuple[int, ...]) -> tuple[np.ndarray, ...]:
    """Random A and x; y is overwritten."""
    M, N = size
    return normal(rng, (M, N), (N,), (N,))


def reference(A: np.ndarray, x: np.ndarray, y: np.ndarray) -> None:
    """The kernel in NumPy."""
    tmp = np.zeros(A.shape[0], A.dtype)
    reference_add_product(A, x, tmp)
    y[:] = 0
    reference_add_transposed_product(A, tmp, y)
