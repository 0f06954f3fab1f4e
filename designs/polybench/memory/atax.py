"""atax: a pass over A; a row is kept until its product with x is known, and then added to the sums."""

from __future__ import annotations

import allo
from allo.customize import Schedule
from allo.ir.types import float32

from ..products.atax import SIZES, inputs, reference
from .shape import Shape, bank

ARRAYS = ("A", "x", "y")
SHAPES = {
    "one": Shape(13, 41, (1,)),
    "many": Shape(26, 82, (2,)),
    "mini": Shape(19, 6, (1,)),
}
"""For one channel an array, at most four, and a small size: rows that are kept, lanes, sums of a column."""


def atax[M, N, R, L, D](A: float32[M, N], x: float32[N], y: float32[N]):
    """``y = A.T @ (A @ x)``, L elements of a row at a time; a row is added when R more have come."""
    c: float32[D, N] = 0
    z: float32[N]
    kept: float32[R, N] = 0
    dots: float32[R] = 0
    t: float32[N // L]
    for m in range(N // L):
        for n in range(L):
            z[m * L + n] = x[m * L + n]
    for i in range(M // R + 1):
        for r in range(R // D):
            for d in range(D):
                for j in range(N // L):
                    e: float32 = dots[r * D + d]
                    for k in range(L):
                        c[d, j * L + k] += kept[r * D + d, j * L + k] * e
                    if i < M // R:
                        p: float32 = 0
                        for l in allo.reduction(L):
                            f: float32 = A[i * R + r * D + d, j * L + l]
                            kept[r * D + d, j * L + l] = f
                            p += f * z[j * L + l]
                        t[j] = p
                        if j == N // L - 1:
                            o: float32 = 0
                            for h in allo.reduction(N // L):
                                o += t[h]
                            dots[r * D + d] = o
    for m1 in range(N // L):
        for n1 in range(L):
            w: float32 = 0
            for d1 in allo.reduction(D):
                w += c[d1, m1 * L + n1]
            y[m1 * L + n1] = w


def schedule(size: tuple[int, ...], shape: Shape) -> Schedule:
    """The design."""
    lanes, sums = shape.lanes, shape.each[0]
    s = allo.customize(atax, instantiate=[*size, shape.rows, lanes, sums])
    for loop in ("m", "j", "m1"):
        s.pipeline(loop)
    for loop in ("l", "h"):
        s.rebalance(loop)
    bank(s, lanes, s.A, s.c, s.kept, dim=2)
    bank(s, lanes, s.x, s.z, s.y)
    s.partition(s.t)
    if sums > 1:
        s.rebalance("d1")
        s.partition(s.c, dim=1)
    return s


def bytes_needed(size: tuple[int, ...]) -> dict[str, int]:
    """Bytes of each array that a run has to move, once."""
    m, n = size
    return {"A": 4 * m * n, "x": 4 * n, "y": 4 * n}


__all__ = ["ARRAYS", "SHAPES", "SIZES", "bytes_needed", "inputs", "reference", "schedule"]
