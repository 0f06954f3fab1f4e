"""PolyBench gesummv: ``y = alpha * A @ x + beta * B @ x``."""

from __future__ import annotations

import numpy as np

import allo
from allo.customize import Schedule
from allo.ir.types import AlloType, float32, int32

from ..arguments import normal
from ..matvec import add_product, reference_add_product, schedule_add_product
from ..scale import alpha, beta, reference_scale_sum

# N.
SIZES = {"tiny": (6,), "mini": (30,), "small": (90,), "medium": (250,)}


def gesummv[T: (float32, int32), N](A: T[N, N], B: T[N, N], x: T[N], y: T[N]):
    """``y = alpha * A @ x + beta * B @ x``."""
    Ax: T[N] = 0
    Bx: T[N] = 0
    add_product[T, N, N, "A"](A, x, Ax)
    add_product[T, N, N, "B"](B, x, Bx)
    for i in range(N):
        y[i] = alpha * Ax[i] + beta * Bx[i]


def schedule(size: tuple[int, ...], element: AlloType = float32) -> Schedule:
    """One schedule for both products, and a pipelined sum."""
    N = size[0]
    s = allo.customize(gesummv, instantiate=[element, N])
    product = schedule_add_product(element, N, N)
    s.compose(product, id="A")
    s.compose(product, id="B")
    s.pipeline("gesummv:i")
    return s


def inputs(rng: np.random.Generator, size: tuple[int, ...]) -> tuple[np.ndarray, ...]:
    """Random A, B and x; y is overwritten."""
    n = size[0]
    return normal(rng, (n, n), (n, n), (n,), (n,))


def reference(A: np.ndarray, B: np.ndarray, x: np.ndarray, y: np.ndarray) -> None:
    """The kernel in NumPy."""
    Ax, Bx = np.zeros_like(y), np.zeros_like(y)
    reference_add_product(A, x, Ax)
    reference_add_product(B, x, Bx)
    y[:] = reference_scale_sum(Ax, Bx)
