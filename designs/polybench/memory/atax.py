"""atax, tile by tile: a row of A by x, and that row times the sum, while the next rows are fetched."""

from __future__ import annotations

import allo
from allo.customize import Schedule
from allo.ir.types import float32

from ..products.atax import SIZES, inputs, reference
from .shape import Shape, bank

ARRAYS = ("A", "x", "y")
SHAPES = {"one": Shape(13, 41), "many": Shape(39, 41), "mini": Shape(19, 6)}
"""For one channel an array, for at most four, and for a small size."""


def atax[M, N, R, L](A: float32[M, N], x: float32[N], y: float32[N]):
    """``y = A.T @ (A @ x)``, R rows and then L columns at a time."""
    c: float32[N] = 0
    for t in range(M // R):
        p: float32[R] = 0
        for j in range(N // L):
            for r in range(R):
                for l in allo.reduction(L):
                    p[r] += A[t * R + r, j * L + l] * x[j * L + l]
        for k in range(R):
            for m in range(N // L):
                for n in range(L):
                    c[m * L + n] += A[t * R + k, m * L + n] * p[k]
    for m1 in range(N // L):
        for n1 in range(L):
            y[m1 * L + n1] = c[m1 * L + n1]


def schedule(size: tuple[int, ...], shape: Shape, *, cached: bool = True) -> Schedule:
    """The design; without ``cached``, for arrays that are on chip already."""
    s = allo.customize(atax, instantiate=[*size, shape.rows, shape.lanes])
    lanes = shape.lanes
    s.pipeline("r")
    s.rebalance("l")
    for loop in ("m", "m1"):
        s.pipeline(loop)
    bank(s, lanes, s.A, dim=2)
    bank(s, lanes, s.x, s.y, s.c)
    if cached:
        bank(s, lanes, s.cache(s.A, "t", double_buffer=True, lanes=lanes), dim=2)
        bank(s, lanes, s.cache(s.x, "t", lanes=lanes))
    return s


def bytes_needed(size: tuple[int, ...]) -> dict[str, int]:
    """Bytes of each array that a run has to move, once."""
    m, n = size
    return {"A": 4 * m * n, "x": 4 * n, "y": 4 * n}


__all__ = ["ARRAYS", "SHAPES", "SIZES", "bytes_needed", "inputs", "reference", "schedule"]
