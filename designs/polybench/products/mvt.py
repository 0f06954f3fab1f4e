"""PolyBench mvt: ``x1 += A @ y1`` and ``x2 += A.T @ y2``."""

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

# N.
SIZES = {"tiny": (6,), "mini": (40,), "small": (120,), "medium": (400,)}
LANES = 2


def mvt[T: (float32, int32), N](A: T[N, N], y1: T[N], y2: T[N], x1: T[N], x2: T[N]):
    """``x1 += A @ y1``, ``x2 += A.T @ y2``."""
    add_product[T, N, N](A, y1, x1)
    add_transposed_product[T, N, N](A, y2, x2)


def schedule(size: tuple[int, ...], element: AlloType = float32) -> Schedule:
    """Two pipelined products of ``LANES`` elements of A a cycle, of a column and then of a row."""
    N = size[0]
    s = allo.customize(mvt, instantiate=[element, N])
    s.compose(schedule_add_product(element, N, N))
    s.compose(schedule_add_transposed_product(element, N, N))
    s.unroll("add_product:i", factor=LANES)
    s.unroll("add_transposed_product:j", factor=LANES)
    for array, dim in ((s.A, 1), (s.A, 2), (s.x1, 1), (s.x2, 1)):
        s.partition(array, partition_type=allo.Partition.Cyclic, dim=dim, factor=LANES)
    return s


def inputs(rng: np.random.Generator, size: tuple[int, ...]) -> tuple[np.ndarray, ...]:
    """Random matrix and vectors."""
    n = size[0]
    return normal(rng, (n, n), (n,), (n,), (n,), (n,))


def reference(
    A: np.ndarray, y1: np.ndarray, y2: np.ndarray, x1: np.ndarray, x2: np.ndarray
) -> None:
    """The kernel in NumPy."""
    reference_add_product(A, y1, x1)
    reference_add_transposed_product(A, y2, x2)
