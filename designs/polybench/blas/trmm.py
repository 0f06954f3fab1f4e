"""PolyBench trmm: ``B = alpha * A.T @ B`` for a lower triangle A with ones on its diagonal."""

from __future__ import annotations

import numpy as np

import allo
from allo.customize import Schedule
from allo.ir.types import AlloType, float32, int32

from ..arguments import normal
from ..scale import alpha

# M, N.
SIZES = {"tiny": (5, 6), "mini": (20, 30), "small": (60, 80), "medium": (200, 240)}
LANES = 2


def add_rows_below[T: (float32, int32), M, N](A: T[M, M], B: T[M, N]):
    """Every row of B takes those below it, weighted by a column of A."""
    for i in range(M):
        for j in range(N):
            for k in range(i + 1, M):
                B[i, j] += A[k, i] * B[k, j]


def scale[T: (float32, int32), M, N](B: T[M, N]):
    """``B *= alpha``."""
    for i, j in allo.grid(M, N):
        B[i, j] = alpha * B[i, j]


def trmm[T: (float32, int32), M, N](A: T[M, M], B: T[M, N]):
    """``B = alpha * A.T @ B``."""
    add_rows_below[T, M, N](A, B)
    scale[T, M, N](B)


def schedule(size: tuple[int, ...], element: AlloType = float32) -> Schedule:
    """A row of B stays in a buffer while the rows below it are added, ``LANES`` elements a cycle."""
    M, N = size
    rows = allo.customize(add_rows_below, instantiate=[element, M, N])
    rows.reorder("k", "j")
    row = rows.buffer_at(rows.B, axis="i")
    for loop in ("j_init", "j", "j_back"):
        rows.unroll(loop, factor=LANES)
    rows.pipeline("j")
    rows.partition(row, partition_type=allo.Partition.Cyclic, dim=1, factor=LANES)
    rows.partition(rows.B, partition_type=allo.Partition.Cyclic, dim=2, factor=LANES)
    s = allo.customize(trmm, instantiate=[element, M, N])
    s.compose(rows)
    s.unroll("scale:j", factor=LANES)
    s.pipeline("scale:j")
    return s


def inputs(rng: np.random.Generator, size: tuple[int, ...]) -> tuple[np.ndarray, ...]:
    """Random A and B."""
    M, N = size
    return normal(rng, (M, M), (M, N))


def reference(A: np.ndarray, B: np.ndarray) -> None:
    """The kernel in NumPy."""
    for i in range(len(B)):
        for k in range(i + 1, len(B)):
            B[i] += A[k, i] * B[k]
    B *= np.float32(alpha)
