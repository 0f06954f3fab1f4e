"""bicg, tile by tile: both products of the same rows of A, while the next rows are fetched."""

from __future__ import annotations

import allo
from allo.customize import Schedule
from allo.ir.types import float32

from ..products.bicg import SIZES, inputs, reference
from .shape import Shape, bank

ARRAYS = ("A", "p", "r", "s", "q")
SHAPES = {"one": Shape(10, 39), "many": Shape(41, 39), "mini": Shape(7, 19)}
"""For one channel an array, for at most four, and for a small size."""


def bicg[M, N, R, L](A: float32[N, M], p: float32[M], r: float32[N], s: float32[M], q: float32[N]):
    """``s = A.T @ r``, ``q = A @ p``, R rows and then L columns at a time."""
    c: float32[M] = 0
    for t in range(N // R):
        d: float32[R] = 0
        for j in range(M // L):
            for i in range(R):
                for l in allo.reduction(L):
                    d[i] += A[t * R + i, j * L + l] * p[j * L + l]
        for w in range(R):
            q[t * R + w] = d[w]
        for k in range(R):
            for m in range(M // L):
                for n in range(L):
                    c[m * L + n] += A[t * R + k, m * L + n] * r[t * R + k]
    for m1 in range(M // L):
        for n1 in range(L):
            s[m1 * L + n1] = c[m1 * L + n1]


def schedule(size: tuple[int, ...], shape: Shape, *, cached: bool = True) -> Schedule:
    """The design; without ``cached``, for arrays that are on chip already."""
    s = allo.customize(bicg, instantiate=[*size, shape.rows, shape.lanes])
    lanes = shape.lanes
    s.pipeline("i")
    s.rebalance("l")
    for loop in ("w", "m", "m1"):
        s.pipeline(loop)
    bank(s, lanes, s.A, dim=2)
    bank(s, lanes, s.p, s.s, s.c)
    if cached:
        bank(s, lanes, s.cache(s.A, "t", double_buffer=True, lanes=lanes), dim=2)
        bank(s, lanes, s.cache(s.p, "t", lanes=lanes))
        s.cache(s.r, "t")
        s.cache(s.q, "t")
    return s


def bytes_needed(size: tuple[int, ...]) -> dict[str, int]:
    """Bytes of each array that a run has to move, once."""
    m, n = size
    return {"A": 4 * m * n, "p": 4 * m, "r": 4 * n, "s": 4 * m, "q": 4 * n}


__all__ = ["ARRAYS", "SHAPES", "SIZES", "bytes_needed", "inputs", "reference", "schedule"]
