"""PolyBench syrk: ``C = alpha * A @ A.T + beta * C`` on the lower triangle."""

from __future__ import annotations

import numpy as np

import allo
from allo.customize import Schedule
from allo.ir.types import AlloType, float32, int32

from ..arguments import normal
from ..scale import alpha
from ..triangle import reference_scale_lower, scale_lower

# M, N.
SIZES = {"tiny": (5, 6), "mini": (20, 30), "small": (60, 80), "medium": (200, 240)}
LANES = 2


def add_rank_update[T: (float32, int32), M, N](A: T[N, M], C: T[N, N]):
    """``C += alpha * A @ A.T`` on the lower triangle."""
    for i in range(N):
        for k in allo.reduction(M):
            for j in range(i + 1):
                C[i, j] += alpha * A[i, k] * A[j, k]


def syrk[T: (float32, int32), M, N](A: T[N, M], C: T[N, N]):
    """``C = alpha * A @ A.T + beta * C`` on the lower triangle."""
    scale_lower[T, N](C)
    add_rank_update[T, M, N](A, C)


def schedule(size: tuple[int, ...], element: AlloType = float32) -> Schedule:
    """A pipeline along each row of C, ``LANES`` elements a cycle."""
    M, N = size
    update = allo.customize(add_rank_update, instantiate=[element, M, N])
    update.unroll("j", factor=LANES)
    update.pipeline("j")
    s = allo.customize(syrk, instantiate=[element, M, N])
    s.compose(update)
    s.unroll("scale_lower:j", factor=LANES)
    s.pipeline("scale_lower:j")
    for array, dim in ((s.A, 1), (s.C, 2)):
        s.partition(array, partition_type=allo.Partition.Cyclic, dim=dim, factor=LANES)
    return s


def inputs(rng: np.random.Generator, size: tuple[int, ...]) -> tuple[np.ndarray, ...]:
    """Random A and C."""
    M, N = size
    return normal(rng, (N, M), (N, N))


def reference(A: np.ndarray, C: np.ndarray) -> None:
    """The kernel in NumPy."""
    reference_scale_lower(C)
    for column in A.T:
        C += np.tril((np.float32(alpha) * column)[:, None] * column)
