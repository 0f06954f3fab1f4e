"""bicg: a pass over A, each element of which goes into both products."""

from __future__ import annotations

import allo
from allo.customize import Schedule
from allo.ir.types import float32

from ..products.bicg import SIZES, inputs, reference
from .shape import Shape, bank

ARRAYS = ("A", "p", "r", "s", "q")
SHAPES = {"one": Shape(1, 26, (41,)), "many": Shape(2, 65, (41,)), "mini": Shape(2, 19, (7,))}
"""For one channel an array, at most four, and a small size: sums of a column, lanes, and those of r and q."""


def bicg[M, N, L, K, D](
    A: float32[N, M], p: float32[M], r: float32[N], s: float32[M], q: float32[N]
):
    """``s = A.T @ r``, ``q = A @ p``, L elements of a row at a time; D rows have sums of their own."""
    c: float32[D, M] = 0
    x: float32[M]
    y: float32[N]
    v: float32[N]
    t: float32[M // L]
    for m in range(M // L):
        for n in range(L):
            x[m * L + n] = p[m * L + n]
    for m1 in range(N // K):
        for n1 in range(K):
            y[m1 * K + n1] = r[m1 * K + n1]
    for i in range(N // D):
        for d in range(D):
            for j in range(M // L):
                e: float32 = y[i * D + d]
                u: float32 = 0
                for l in allo.reduction(L):
                    u += A[i * D + d, j * L + l] * x[j * L + l]
                t[j] = u
                for k in range(L):
                    c[d, j * L + k] += A[i * D + d, j * L + k] * e
                if j == M // L - 1:
                    o: float32 = 0
                    for h in allo.reduction(M // L):
                        o += t[h]
                    v[i * D + d] = o
    for m2 in range(M // L):
        for n2 in range(L):
            w: float32 = 0
            for d2 in allo.reduction(D):
                w += c[d2, m2 * L + n2]
            s[m2 * L + n2] = w
    for m3 in range(N // K):
        for n3 in range(K):
            q[m3 * K + n3] = v[m3 * K + n3]


def schedule(size: tuple[int, ...], shape: Shape) -> Schedule:
    """The design."""
    lanes, others = shape.lanes, shape.each[0]
    s = allo.customize(bicg, instantiate=[*size, lanes, others, shape.rows])
    for loop in ("m", "m1", "j", "m2", "m3"):
        s.pipeline(loop)
    for loop in ("l", "h"):
        s.rebalance(loop)
    bank(s, lanes, s.A, s.c, dim=2)
    bank(s, lanes, s.p, s.x, s.s)
    bank(s, others, s.r, s.y, s.v, s.q)
    s.partition(s.t)
    if shape.rows > 1:
        s.rebalance("d2")
        s.partition(s.c, dim=1)
    return s


def bytes_needed(size: tuple[int, ...]) -> dict[str, int]:
    """Bytes of each array that a run has to move, once."""
    m, n = size
    return {"A": 4 * m * n, "p": 4 * m, "r": 4 * n, "s": 4 * m, "q": 4 * n}


__all__ = ["ARRAYS", "SHAPES", "SIZES", "bytes_needed", "inputs", "reference", "schedule"]
