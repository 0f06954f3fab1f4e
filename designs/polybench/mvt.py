"""PolyBench mvt: ``x1 += A @ y1`` and ``x2 += A.T @ y2``."""

from __future__ import annotations

import numpy as np

import allo
from allo.customize import Schedule
from allo.ir.types import AlloType, float32, int32

from .arguments import normal
from .matvec import (
    add_product,
    add_transposed_product,
    reference_add_product,
    reference_add_transposed_product,
    schedule_add_product,
    schedule_add_transposed_product,
)

# N.
SIZES = {"tiny": (6,), "mini": (40,), "small": (120,), "medium": (400,)}


def mvt[T: (float32, int32), N](A: T[N, N], y1: T[N], y2: T[N], x1: T[N], x2: T[N]):
    """``x1 += A @ y1``, ``x2 += A.T @ y2``."""
    add_product[T, N, N](A, y1, x1)
    add_transposed_product[T, N, N](A, y2, x2)


def schedule(size: tuple[int, ...], element: AlloType = float32) -> Schedule:
    """Two pipelined products; the first takes a row of sums and two columns of A a cycle."""
    N = size[0]
    s = allo.customize(mvt, instantiate=[element, N])
    s.compose(schedule_add_product(element, N, N))
    s.compose(schedule_add_transposed_product(element, N, N))
    s.partition(s.A, partition_type=allo.Partition.Block, dim=1, factor=2)
    s.partition(s.x1, partition_type=allo.Partition.Complete)
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
