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
SHAPES = {"one": Shape(6, 16, (20,)), "many": Shape(6, 32, (40,)), "mini": Shape(2, 8, (10,))}
"""For one channel an array, at most four, and a small size: rows at once, lanes of C, and of the others."""


def fetch_lower[N, W, L](C: float32[N, N], c: float32[N, W]):
    """The lower triangle of a matrix, L elements at once, into one with W columns."""
    for m in range(N):
        for n in range(m // L + 1):
            for l in range(L):
                if n * L + l <= m:
                    c[m, n * L + l] = C[m, n * L + l]


def fetch_all[M, N, W, L, LA](
    A: float32[N, M], C: float32[N, N], a: float32[N, M], c: float32[N, W]
):
    """Both matrices on chip."""
    fetch[N, M, N, M, LA, "a"](A, a)
    fetch_lower[N, W, L](C, c)


def syrk[M, N, W, U, L, LA](A: float32[N, M], C: float32[N, N]):
    """``C = alpha * A @ A.T + beta * C`` on the lower triangle, U rows of C at once."""
    a: float32[N, M]
    c: float32[N, W] = 0
    own: float32[U, M]
    fetch_all[M, N, W, L, LA](A, C, a, c)
    for i in range(N // U):
        for v in range(U):
            for k0 in range(M):
                own[v, k0] = a[i * U + v, k0]
        for j in range(i * U + U):
            for u in range(U):
                total: float32 = 0
                for k in allo.reduction(M):
                    total += own[u, k] * a[j, k]
                c[i * U + u, j] = alpha * total + beta * c[i * U + u, j]
    for i1 in range(N // U):
        for u1 in range(U):
            for j1 in range((i1 * U + u1) // L + 1):
                for l1 in range(L):
                    if j1 * L + l1 <= i1 * U + u1:
                        C[i1 * U + u1, j1 * L + l1] = c[i1 * U + u1, j1 * L + l1]


def schedule(size: tuple[int, ...], shape: Shape, *, cached: bool = True) -> Schedule:
    """The design; ``cached`` changes nothing, for both matrices are kept on chip."""
    width = 1 << (size[1] - 1).bit_length()
    lanes, other = shape.lanes, shape.each[0]
    s = allo.customize(syrk, instantiate=[*size, width, shape.rows, lanes, other])
    s.pipeline("fetch_lower:n")
    fetch_at_once(s, "fetch_all", "a")
    for loop in ("v", "j", "j1"):
        s.pipeline(loop)
    s.rebalance("k")
    bank_all(s, (*ARRAYS, "c"), (other, lanes, lanes))
    bank(s, shape.rows, s.c)
    s.partition(s.a, dim=2)
    s.partition(s.own)
    return s


def bytes_needed(size: tuple[int, ...]) -> dict[str, int]:
    """Bytes of each array that a run has to move, once."""
    M, N = size
    return {"A": 4 * M * N, "C": 4 * N * (N + 1)}


__all__ = ["ARRAYS", "SHAPES", "SIZES", "bytes_needed", "inputs", "reference", "schedule"]
