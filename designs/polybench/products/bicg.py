"""PolyBench bicg: ``s = A.T @ r`` and ``q = A @ p``, the products of a step of BiCGStab."""

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


def bicg[T: (float32, int32), M, N](A: T[N, M], p: T[M], r: T[N], s: T[M], q: T[N]):
    """``s = A.T @ r``, ``q = A @ p``."""
    for i in range(M):
        s[i] = 0
    add_transposed_product[T, N, M](A, r, s)
    for j in range(N):
        q[j] = 0
    add_product[T, N, M](A, p, q)


def schedule(size: tuple[int, ...], element: AlloType = float32) -> Schedule:
    """Two products side by side, with two columns of A to each cycle."""
    M, N = size
    s = allo.customize(bicg, instantiate=[element, M, N])
    s.compose(schedule_add_transposed_product(element, N, M))
    s.compose(schedule_add_product(element, N, M))
    s.pipeline("bicg:i")
    s.pipeline("bicg:j")
    s.partition(s.A, partition_type=allo.Partition.Cyclic, dim=2, factor=2)
    s.partition(s.s, partition_type=allo.Partition.Cyclic, dim=1, factor=2)
    s.unroll("add_transposed_product:j", factor=2)
    s.dataflow("bicg")
    return s


def inputs(rng: np.random.Generator, size: tuple[int, ...]) -> tuple[np.ndarray, ...]:
    """Random A, p and r; s and q are overwritten."""
    M, N = size
    return normal(rng, (N, M), (M,), (N,), (M,), (N,))


def reference(A: np.ndarray, p: np.ndarray, r: np.ndarray, s: np.ndarray, q: np.ndarray) -> None:
    """The kernel in NumPy."""
    s[:] = 0
    reference_add_transposed_product(A, r, s)
    q[:] = 0
    reference_add_product(A, p, q)
