"""symm: a product with a matrix that is kept twice; its lower triangle is read as rows and as columns."""

from __future__ import annotations

import allo
from allo.customize import Schedule
from allo.ir.types import float32

from ..blas.symm import SIZES, inputs, reference
from ..scale import alpha, beta
from .product import bank_all, fetch, fetch_at_once
from .shape import Shape, bank

ARRAYS = ("A", "B", "C")
SHAPES = {"one": Shape(5, 20, (20,)), "many": Shape(5, 40, (40,)), "mini": Shape(2, 10, (10,))}
"""For one channel an array, at most four, and a small size: rows at once, lanes of B and C, and of A."""


def fetch_twice[M, L](A: float32[M, M], rows: float32[M, M], columns: float32[M, M]):
    """A matrix into two, L elements at once."""
    for m in range(M):
        for n in range(M // L):
            for l in range(L):
                rows[m, n * L + l] = A[m, n * L + l]
                columns[m, n * L + l] = A[m, n * L + l]


def fetch_all[M, N, L, LA](
    A: float32[M, M],
    B: float32[M, N],
    C: float32[M, N],
    rows: float32[M, M],
    columns: float32[M, M],
    b: float32[M, N],
    c: float32[M, N],
):
    """Every matrix on chip."""
    fetch_twice[M, LA](A, rows, columns)
    fetch[M, N, M, N, L, "b"](B, b)
    fetch[M, N, M, N, L, "c"](C, c)


def symm[M, N, U, L, LA](A: float32[M, M], B: float32[M, N], C: float32[M, N]):
    """``C = alpha * A @ B + beta * C``, U rows of C at once."""
    rows: float32[M, M]
    columns: float32[M, M]
    b: float32[M, N]
    c: float32[M, N]
    sums: float32[M, N] = 0
    fetch_all[M, N, L, LA](A, B, C, rows, columns, b, c)
    for k in range(M):
        for i in range(M // U):
            for u in range(U):
                below: float32 = rows[i * U + u, k]
                above: float32 = columns[k, i * U + u]
                a: float32 = (below if k <= i * U + u else above) * alpha
                for j in range(N):
                    sums[i * U + u, j] += a * b[k, j]
    for i1 in range(M // U):
        for u1 in range(U):
            for j1 in range(N // L):
                for l1 in range(L):
                    old: float32 = c[i1 * U + u1, j1 * L + l1] * beta
                    C[i1 * U + u1, j1 * L + l1] = sums[i1 * U + u1, j1 * L + l1] + old


def schedule(size: tuple[int, ...], shape: Shape) -> Schedule:
    """The design."""
    lanes, of_a = shape.lanes, shape.each[0]
    s = allo.customize(symm, instantiate=[*size, shape.rows, lanes, of_a])
    s.pipeline("fetch_twice:n")
    fetch_at_once(s, "fetch_all", "bc")
    for loop in ("i", "j1"):
        s.pipeline(loop)
    bank_all(s, (*ARRAYS, "rows", "columns", "c"), (of_a, lanes, lanes, of_a, of_a, lanes))
    bank(s, shape.rows, s.rows, s.sums)
    for array in (s.b, s.sums):
        s.partition(array, dim=2)
    return s


def bytes_needed(size: tuple[int, ...]) -> dict[str, int]:
    """Bytes of each array that a run has to move, once."""
    M, N = size
    return {"A": 2 * M * (M + 1), "B": 4 * M * N, "C": 8 * M * N}


__all__ = ["ARRAYS", "SHAPES", "SIZES", "bytes_needed", "inputs", "reference", "schedule"]
