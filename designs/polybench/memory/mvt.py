"""mvt: a pass over A, each element of which goes into both products."""

from __future__ import annotations

import allo
from allo.customize import Schedule
from allo.ir.types import float32

from ..products.mvt import SIZES, inputs, reference
from .shape import Shape, bank

ARRAYS = ("A", "y1", "y2", "x1", "x2")
SHAPES = {"one": Shape(1, 20), "many": Shape(1, 50), "mini": Shape(2, 8)}
"""For one channel an array, for at most four, and for a small size: sums of a column, and lanes."""


def mvt[N, L, D](A: float32[N, N], y1: float32[N], y2: float32[N], x1: float32[N], x2: float32[N]):
    """``x1 += A @ y1``, ``x2 += A.T @ y2``, L elements of a row at a time; D rows have sums of their own."""
    c: float32[D, N] = 0
    y: float32[N]
    z: float32[N]
    v: float32[N]
    t: float32[N // L]
    for m in range(N // L):
        for n in range(L):
            c[0, m * L + n] = x2[m * L + n]
            y[m * L + n] = y1[m * L + n]
            z[m * L + n] = y2[m * L + n]
    for i in range(N // D):
        for d in range(D):
            for j in range(N // L):
                e: float32 = z[i * D + d]
                s: float32 = 0
                for l in allo.reduction(L):
                    s += A[i * D + d, j * L + l] * y[j * L + l]
                t[j] = s
                for k in range(L):
                    c[d, j * L + k] += A[i * D + d, j * L + k] * e
                if j == N // L - 1:
                    p: float32 = 0
                    for q in allo.reduction(N // L):
                        p += t[q]
                    v[i * D + d] = p
    for m1 in range(N // L):
        for n1 in range(L):
            w: float32 = 0
            for d1 in allo.reduction(D):
                w += c[d1, m1 * L + n1]
            x2[m1 * L + n1] = w
            x1[m1 * L + n1] = x1[m1 * L + n1] + v[m1 * L + n1]


def schedule(size: tuple[int, ...], shape: Shape) -> Schedule:
    """The design."""
    s = allo.customize(mvt, instantiate=[size[0], shape.lanes, shape.rows])
    for loop in ("m", "j", "m1"):
        s.pipeline(loop)
    for loop in ("l", "q"):
        s.rebalance(loop)
    bank(s, shape.lanes, s.A, s.c, dim=2)
    bank(s, shape.lanes, s.y1, s.y2, s.x1, s.x2, s.y, s.z, s.v)
    s.partition(s.t)
    if shape.rows > 1:
        s.rebalance("d1")
        s.partition(s.c, dim=1)
    return s


def bytes_needed(size: tuple[int, ...]) -> dict[str, int]:
    """Bytes of each array that a run has to move, once."""
    n = size[0]
    return {"A": 4 * n * n, "y1": 4 * n, "y2": 4 * n, "x1": 8 * n, "x2": 8 * n}


__all__ = ["ARRAYS", "SHAPES", "SIZES", "bytes_needed", "inputs", "reference", "schedule"]
