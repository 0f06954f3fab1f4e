"""syr2k: sums of products of rows of both matrices, for U rows at once with each up to the diagonal."""

from __future__ import annotations

import allo
from allo.customize import Schedule
from allo.ir.types import float32

from ..blas.syr2k import SIZES, inputs, reference
from ..scale import alpha, beta
from .product import bank_all, fetch, fetch_at_once
from .shape import Shape, bank
from .syrk import fetch_lower

ARRAYS = ("A", "B", "C")
SHAPES = {"one": Shape(3, 16, (20,)), "many": Shape(3, 32, (40,)), "mini": Shape(2, 8, (10,))}
"""For one channel an array, at most four, and a small size: rows at once, lanes of C, and of the others."""


def fetch_all[M, N, W, L, LA](
    A: float32[N, M],
    B: float32[N, M],
    C: float32[N, N],
    a: float32[N, M],
    b: float32[N, M],
    c: float32[N, W],
):
    """Every matrix on chip."""
    fetch[N, M, N, M, LA, "a"](A, a)
    fetch[N, M, N, M, LA, "b"](B, b)
    fetch_lower[N, W, L](C, c)


def syr2k[M, N, W, U, L, LA](A: float32[N, M], B: float32[N, M], C: float32[N, N]):
    """``C = alpha * (A @ B.T + B @ A.T) + beta * C`` on the lower triangle, U rows of C at once."""
    a: float32[N, M]
    b: float32[N, M]
    c: float32[N, W] = 0
    of_a: float32[U, M]
    of_b: float32[U, M]
    fetch_all[M, N, W, L, LA](A, B, C, a, b, c)
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
                c[i * U + u, j] = alpha * total + beta * c[i * U + u, j]
    for i1 in range(N // U):
        for u1 in range(U):
            for j1 in range((i1 * U + u1) // L + 1):
                for l1 in range(L):
                    if j1 * L + l1 <= i1 * U + u1:
                        C[i1 * U + u1, j1 * L + l1] = c[i1 * U + u1, j1 * L + l1]


def schedule(size: tuple[int, ...], shape: Shape, *, cached: bool = True) -> Schedule:
    """The design; ``cached`` changes nothing, for all matrices are kept on chip."""
    width = 1 << (size[1] - 1).bit_length()
    lanes, other = shape.lanes, shape.each[0]
    s = allo.customize(syr2k, instantiate=[*size, width, shape.rows, lanes, other])
    s.pipeline("fetch_lower:n")
    fetch_at_once(s, "fetch_all", "ab")
    for loop in ("v", "j", "j1"):
        s.pipeline(loop)
    s.rebalance("k")
    bank_all(s, (*ARRAYS, "c"), (other, other, lanes, lanes))
    bank(s, shape.rows, s.c)
    for array in (s.a, s.b):
        s.partition(array, dim=2)
    for array in (s.of_a, s.of_b):
        s.partition(array)
    return s


def bytes_needed(size: tuple[int, ...]) -> dict[str, int]:
    """Bytes of each array that a run has to move, once."""
    M, N = size
    return {"A": 4 * M * N, "B": 4 * M * N, "C": 4 * N * (N + 1)}


__all__ = ["ARRAYS", "SHAPES", "SIZES", "bytes_needed", "inputs", "reference", "schedule"]
