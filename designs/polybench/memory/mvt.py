"""mvt, tile by tile: both products of the same rows of A, while the next rows are fetched."""

from __future__ import annotations

import allo
from allo.customize import Schedule
from allo.ir.types import float32

from ..products.mvt import SIZES, inputs, reference
from .shape import Shape, bank

ARRAYS = ("A", "y1", "y2", "x1", "x2")
SHAPES = {"one": Shape(10, 16), "many": Shape(40, 50), "mini": Shape(8, 8)}
"""For one channel an array, for at most four, and for a small size."""


def mvt[N, R, L](A: float32[N, N], y1: float32[N], y2: float32[N], x1: float32[N], x2: float32[N]):
    """``x1 += A @ y1``, ``x2 += A.T @ y2``, R rows and then L columns at a time."""
    c: float32[N]
    for m0 in range(N // L):
        for n0 in range(L):
            c[m0 * L + n0] = x2[m0 * L + n0]
    for t in range(N // R):
        p: float32[R] = 0
        for j in range(N // L):
            for r in range(R):
                for l in allo.reduction(L):
                    p[r] += A[t * R + r, j * L + l] * y1[j * L + l]
        for w in range(R):
            x1[t * R + w] += p[w]
        for k in range(R):
            for m in range(N // L):
                for n in range(L):
                    c[m * L + n] += A[t * R + k, m * L + n] * y2[t * R + k]
    for m1 in range(N // L):
        for n1 in range(L):
            x2[m1 * L + n1] = c[m1 * L + n1]


def schedule(size: tuple[int, ...], shape: Shape, *, cached: bool = True) -> Schedule:
    """The design; without ``cached``, for arrays that are on chip already."""
    s = allo.customize(mvt, instantiate=[size[0], shape.rows, shape.lanes])
    lanes = shape.lanes
    s.pipeline("r")
    s.rebalance("l")
    for loop in ("w", "m", "m0", "m1"):
        s.pipeline(loop)
    bank(s, lanes, s.A, dim=2)
    bank(s, lanes, s.y1, s.x2, s.c)
    if cached:
        bank(s, lanes, s.cache(s.A, "t", double_buffer=True, lanes=lanes), dim=2)
        bank(s, lanes, s.cache(s.y1, "t", lanes=lanes))
        s.cache(s.y2, "t")
        s.cache(s.x1, "t")
    return s


def bytes_needed(size: tuple[int, ...]) -> dict[str, int]:
    """Bytes of each array that a run has to move, once."""
    n = size[0]
    return {"A": 4 * n * n, "y1": 4 * n, "y2": 4 * n, "x1": 8 * n, "x2": 8 * n}


__all__ = ["ARRAYS", "SHAPES", "SIZES", "bytes_needed", "inputs", "reference", "schedule"]
