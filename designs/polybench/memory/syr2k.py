"""syr2k: sums of products of rows of both matrices, for U rows at once with each up to the diagonal."""

from __future__ import annotations

import allo
from allo.customize import Schedule
from allo.ir.types import float32

from ..blas.syr2k import SIZES, inputs, reference
from ..scale import alpha, beta
from .product import bank_all, fetch, fetch_at_once
from .shape import Shape, bank

ARRAYS = ("A", "B", "C")
SHAPES = {"one": Shape(3, 16, (20,)), "many": Shape(3, 48, (40,)), "mini": Shape(2, 6, (10,))}
"""For one channel an array, at most four, and a small size: rows at once, lanes of C, and of the others."""


def fetch_all[M, N, L, LA](
    A: float32[N, M],
    B: float32[N, M],
    C: float32[N, N],
    a: float32[N, M],
    b: float32[N, M],
    c: float32[N, N],
):
    """Every matrix on chip."""
    fetch[N, M, N, M, LA, "a"](A, a)
    fetch[N, M, N, M, LA, "b"](B, b)
    fetch[N, N, N, N, L, "c"](C, c)


def add_pairs[M, N, U](a: float32[N, M], b: float32[N, M], c: float32[N, N]):
    """``c = alpha * (a @ b.T + b @ a.T) + beta * c`` on the lower triangle, U rows of c at once."""
    of_a: float32[U, M]
    of_b: float32[U, M]
    for i in range(N // U):
        for v in range(U):
            for k0 in range(M):
                of_a[v, k0] = a[i * U + v, k0]
                of_b[v, k0] = b[i * U + v, k0]
        for j in range(i * U + U):
            for u in range(U):
                total: float32 = 0
                for k in allo.reduction(M):
                    total += of_b[u, k] * a[j, k] + of_a[u, k] * b[j, k]
                if j <= i * U + u:
                    c[i * U + u, j] = alpha * total + beta * c[i * U + u, j]


def syr2k[M, N, U, L, LA](A: float32[N, M], B: float32[N, M], C: float32[N, N]):
    """``C = alpha * (A @ B.T + B @ A.T) + beta * C`` on the lower triangle."""
    a: float32[N, M]
    b: float32[N, M]
    c: float32[N, N]
    fetch_all[M, N, L, LA](A, B, C, a, b, c)
    add_pairs[M, N, U](a, b, c)
    for m in range(N):
        for n in range(N // L):
            for l in range(L):
                C[m, n * L + l] = c[m, n * L + l]


def schedule(size: tuple[int, ...], shape: Shape) -> Schedule:
    """The design."""
    lanes, other = shape.lanes, shape.each[0]
    inner = allo.customize(add_pairs, instantiate=[*size, shape.rows])
    for loop in ("v", "j"):
        inner.pipeline(loop)
    inner.rebalance("k")
    for array in (inner.of_a, inner.of_b):
        inner.partition(array)
    s = allo.customize(syr2k, instantiate=[*size, shape.rows, lanes, other])
    s.compose(inner)
    fetch_at_once(s, "fetch_all", "abc")
    s.pipeline("syr2k:n")
    bank_all(s, (*ARRAYS, "c"), (other, other, lanes, lanes))
    bank(s, shape.rows, s.c)
    for array in (s.a, s.b):
        s.partition(array, dim=2)
    return s


def bytes_needed(size: tuple[int, ...]) -> dict[str, int]:
    """Bytes of each array that a run has to move, once."""
    M, N = size
    return {"A": 4 * M * N, "B": 4 * M * N, "C": 4 * N * (N + 1)}


__all__ = ["ARRAYS", "SHAPES", "SIZES", "bytes_needed", "inputs", "reference", "schedule"]
