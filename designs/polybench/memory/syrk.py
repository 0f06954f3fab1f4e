"""syrk: sums of products of two rows, for U rows at once with each row above the diagonal's end."""

from __future__ import annotations

import allo
from allo.customize import Schedule
from allo.ir.types import float32

from ..blas.syrk import SIZES, inputs, reference
from ..scale import alpha, beta
from .product import bank_all, fetch, fetch_at_once
from .shape import Shape, bank

ARRAYS = ("A", "C")
SHAPES = {"one": Shape(6, 16, (20,)), "many": Shape(6, 48, (40,)), "mini": Shape(2, 6, (10,))}
"""For one channel an array, at most four, and a small size: rows at once, lanes of C, and of the others."""


def fetch_all[M, N, L, LA](A: float32[N, M], C: float32[N, N], a: float32[N, M], c: float32[N, N]):
    """Both matrices on chip."""
    fetch[N, M, N, M, LA, "a"](A, a)
    fetch[N, N, N, N, L, "c"](C, c)


def add_squares[M, N, U](a: float32[N, M], c: float32[N, N]):
    """``c = alpha * a @ a.T + beta * c`` on the lower triangle, U rows of c at once."""
    own: float32[U, M]
    for i in range(N // U):
        for v in range(U):
            for k0 in range(M):
                own[v, k0] = a[i * U + v, k0]
        for j in range(i * U + U):
            for u in range(U):
                total: float32 = 0
                for k in allo.reduction(M):
                    total += own[u, k] * a[j, k]
                if j <= i * U + u:
                    c[i * U + u, j] = alpha * total + beta * c[i * U + u, j]


def syrk[M, N, U, L, LA](A: float32[N, M], C: float32[N, N]):
    """``C = alpha * A @ A.T + beta * C`` on the lower triangle."""
    a: float32[N, M]
    c: float32[N, N]
    fetch_all[M, N, L, LA](A, C, a, c)
    add_squares[M, N, U](a, c)
    for m in range(N):
        for n in range(N // L):
            for l in range(L):
                C[m, n * L + l] = c[m, n * L + l]


def schedule(size: tuple[int, ...], shape: Shape) -> Schedule:
    """The design."""
    lanes, other = shape.lanes, shape.each[0]
    inner = allo.customize(add_squares, instantiate=[*size, shape.rows])
    for loop in ("v", "j"):
        inner.pipeline(loop)
    inner.rebalance("k")
    inner.partition(inner.own)
    s = allo.customize(syrk, instantiate=[*size, shape.rows, lanes, other])
    s.compose(inner)
    fetch_at_once(s, "fetch_all", "ac")
    s.pipeline("syrk:n")
    bank_all(s, (*ARRAYS, "c"), (other, lanes, lanes))
    bank(s, shape.rows, s.c)
    s.partition(s.a, dim=2)
    return s


def bytes_needed(size: tuple[int, ...]) -> dict[str, int]:
    """Bytes of each array that a run has to move, once."""
    M, N = size
    return {"A": 4 * M * N, "C": 4 * N * (N + 1)}


__all__ = ["ARRAYS", "SHAPES", "SIZES", "bytes_needed", "inputs", "reference", "schedule"]
