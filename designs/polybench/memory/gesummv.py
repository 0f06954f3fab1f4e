"""gesummv, tile by tile: both products at once, while the next rows of A and B are fetched."""

from __future__ import annotations

import allo
from allo.customize import Schedule
from allo.ir.types import float32

from ..blas.gesummv import SIZES, inputs, reference
from ..scale import alpha, beta
from .shape import Shape, bank

ARRAYS = ("A", "B", "x", "y")
SHAPES = {"one": Shape(10, 25), "many": Shape(25, 50), "mini": Shape(5, 6)}
"""For one channel an array, for at most four, and for a small size."""


def gesummv[N, R, L](A: float32[N, N], B: float32[N, N], x: float32[N], y: float32[N]):
    """``y = alpha * A @ x + beta * B @ x``, R rows and then L columns at a time."""
    for t in range(N // R):
        p: float32[R] = 0
        q: float32[R] = 0
        for j in range(N // L):
            for r in range(R):
                for l in allo.reduction(L):
                    p[r] += A[t * R + r, j * L + l] * x[j * L + l]
                    q[r] += B[t * R + r, j * L + l] * x[j * L + l]
        for w in range(R):
            y[t * R + w] = alpha * p[w] + beta * q[w]


def schedule(size: tuple[int, ...], shape: Shape, *, cached: bool = True) -> Schedule:
    """The design; without ``cached``, for arrays that are on chip already."""
    s = allo.customize(gesummv, instantiate=[size[0], shape.rows, shape.lanes])
    lanes = shape.lanes
    s.pipeline("r")
    s.rebalance("l")
    s.pipeline("w")
    bank(s, lanes, s.A, s.B, dim=2)
    bank(s, lanes, s.x)
    if cached:
        tiles = [s.cache(s.A, "t", double_buffer=True, lanes=lanes), s.cache(s.B, "t", lanes=lanes)]
        bank(s, lanes, *tiles, dim=2)
        bank(s, lanes, s.cache(s.x, "t", lanes=lanes))
        s.cache(s.y, "t")
    return s


def bytes_needed(size: tuple[int, ...]) -> dict[str, int]:
    """Bytes of each array that a run has to move, once."""
    n = size[0]
    return {"A": 4 * n * n, "B": 4 * n * n, "x": 4 * n, "y": 4 * n}


__all__ = ["ARRAYS", "SHAPES", "SIZES", "bytes_needed", "inputs", "reference", "schedule"]
