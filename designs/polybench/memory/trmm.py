"""trmm: tiles of rows of the product with a triangle, each from its diagonal down."""

from __future__ import annotations

import allo
from allo.customize import Schedule
from allo.ir.types import float32

from ..blas.trmm import SIZES, inputs, reference
from ..scale import alpha
from .product import bank_all, fetch, fetch_at_once
from .shape import Shape, bank

ARRAYS = ("A", "B")
SHAPES = {"one": Shape(50, 20), "many": Shape(50, 40), "mini": Shape(20, 10)}
"""For one channel an array, for at most four, and for a small size: rows of a tile, and lanes."""
TURNS = 10
"""Cycles between two additions to one element, and groups of rows in a tile."""


def fetch_all[M, N, L](A: float32[M, M], B: float32[M, N], a: float32[M, M], b: float32[M, N]):
    """Both matrices on chip."""
    fetch[M, M, M, M, L, "a"](A, a)
    fetch[M, N, M, N, L, "b"](B, b)


def trmm[M, N, T, U, L](A: float32[M, M], B: float32[M, N]):
    """``B = alpha * A.T @ B``, T rows at a time, U of them at once."""
    a: float32[M, M]
    b: float32[M, N]
    sums: float32[T, N]
    fetch_all[M, N, L](A, B, a, b)
    for t in range(M // T):
        for i0 in range(T // U):
            for j0 in range(N):
                for u0 in range(U):
                    sums[i0 * U + u0, j0] = 0
        for k in range(t * T, M):
            for i in range(T // U):
                for u in range(U):
                    below: float32 = a[k, t * T + i * U + u] * alpha
                    e: float32 = below if k > t * T + i * U + u else 0.0
                    f: float32 = alpha if k == t * T + i * U + u else e
                    for j in range(N):
                        sums[i * U + u, j] += f * b[k, j]
        for i1 in range(T // U):
            for u1 in range(U):
                for j1 in range(N // L):
                    for l1 in range(L):
                        B[t * T + i1 * U + u1, j1 * L + l1] = sums[i1 * U + u1, j1 * L + l1]


def schedule(size: tuple[int, ...], shape: Shape) -> Schedule:
    """The design."""
    at_once = shape.rows // TURNS
    s = allo.customize(trmm, instantiate=[*size, shape.rows, at_once, shape.lanes])
    fetch_at_once(s, "fetch_all", "ab")
    for loop in ("i0", "i", "j1"):
        s.pipeline(loop)
    bank_all(s, (*ARRAYS, "a"), (shape.lanes,) * 3)
    bank(s, at_once, s.sums)
    for array in (s.b, s.sums):
        s.partition(array, dim=2)
    return s


def bytes_needed(size: tuple[int, ...]) -> dict[str, int]:
    """Bytes of each array that a run has to move, once."""
    M, N = size
    return {"A": 2 * M * (M - 1), "B": 8 * M * N}


__all__ = ["ARRAYS", "SHAPES", "SIZES", "bytes_needed", "inputs", "reference", "schedule"]
