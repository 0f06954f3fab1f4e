"""PolyBench gemver: a rank-two update of A, then two products with it, one transposed."""

from __future__ import annotations

import numpy as np

import allo
from allo.customize import Schedule
from allo.ir.types import AlloType, float32, int32

from ..arguments import normal
from ..scale import alpha, beta

# N.
SIZES = {"tiny": (6,), "mini": (40,), "small": (120,), "medium": (400,)}


def gemver[T: (float32, int32), N](
    u1: T[N],
    v1: T[N],
    u2: T[N],
    v2: T[N],
    y: T[N],
    z: T[N],
    A: T[N, N],
    x: T[N],
    w: T[N],
):
    """``A += u1 v1.T + u2 v2.T``, ``x += beta * A.T @ y + z``, ``w += alpha * A @ x``."""
    for i, j in allo.grid(N, N, name="update"):
        A[i, j] = A[i, j] + u1[i] * v1[j] + u2[i] * v2[j]
    for i in allo.grid(N, name="transposed"):
        for j in allo.reduction(N):
            x[i] = x[i] + beta * A[j, i] * y[j]
    for i in allo.grid(N, name="shift"):
        x[i] = x[i] + z[i]
    for i in allo.grid(N, name="product"):
        for j in allo.reduction(N):
            w[i] = w[i] + alpha * A[i, j] * x[j]


def schedule(size: tuple[int, ...], element: AlloType = float32) -> Schedule:
    """Every nest a pipeline, the sums in the inner loop."""
    s = allo.customize(gemver, instantiate=[element, *size])
    for band in ("transposed", "product"):
        loops = s.get_loops()
        s.reorder(loops[band].j, loops[band].i)
    loops = s.get_loops()
    s.pipeline(loops.update.j)
    s.pipeline(loops.transposed.i)
    s.pipeline(loops.shift.i)
    s.pipeline(loops.product.i)
    return s


def inputs(rng: np.random.Generator, size: tuple[int, ...]) -> tuple[np.ndarray, ...]:
    """Random matrix and vectors."""
    n = size[0]
    return normal(rng, *[(n,)] * 6, (n, n), (n,), (n,))


def reference(
    u1: np.ndarray,
    v1: np.ndarray,
    u2: np.ndarray,
    v2: np.ndarray,
    y: np.ndarray,
    z: np.ndarray,
    A: np.ndarray,
    x: np.ndarray,
    w: np.ndarray,
) -> None:
    """The kernel in NumPy."""
    A[:] = A + u1[:, None] * v1 + u2[:, None] * v2
    for j in range(len(y)):
        x += np.float32(beta) * A[j] * y[j]
    x += z
    for j in range(len(x)):
        w += np.float32(alpha) * A[:, j] * x[j]
