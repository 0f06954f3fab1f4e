"""trmm: tiles of rows of the product with a triangle, each from its diagonal down."""

from __future__ import annotations

import allo
from allo.customize import Schedule
from allo.ir.types import float32, index

from ..blas.trmm import SIZES, inputs, reference
from ..scale import alpha
from .product import bank_all
from .shape import Shape, bank

ARRAYS = ("A", "B")
SHAPES = {"one": Shape(50, 20), "many": Shape(50, 40), "mini": Shape(20, 10)}
"""For one channel an array, for at most four, and for a small size: rows of a tile, and lanes."""
TURNS = 10
"""Cycles between two additions to one element, and groups of rows in a tile."""


def multiply[M, N, T, U](t: index, a: float32[M, M], b: float32[M, N], done: float32[T, N]):
    """``done = alpha * a.T @ b`` in the rows of tile t of the triangle, U rows at once."""
    sums: float32[T, N]
    for i0 in range(T // U):
        for j0 in range(N):
            for u0 in range(U):
                sums[i0 * U + u0, j0] = 0
    for k in range(T + t * T):
        for i in range(T // U):
            f: float32[U]
            for u in range(U):
                below: float32 = a[M - T - t * T + k, M - T - t * T + i * U + u] * alpha
                e: float32 = below if k > i * U + u else 0.0
                f[u] = alpha if k == i * U + u else e
            for j in range(N):
                row: float32 = b[M - T - t * T + k, j]
                for v in range(U):
                    sums[i * U + v, j] += f[v] * row
    for i1 in range(T // U):
        for u1 in range(U):
            for j1 in range(N):
                done[i1 * U + u1, j1] = sums[i1 * U + u1, j1]


def trmm[M, N, T, U, L](A: float32[M, M], B: float32[M, N]):
    """``B = alpha * A.T @ B``, T rows at a time, the last ones first: they need the fewest."""
    a: float32[M, M]
    b: float32[M, N]
    for t in range(M // T):
        done: float32[T, N]
        for ma in range(T):
            for na in range(M // L):
                for la in range(L):
                    a[M - T - t * T + ma, na * L + la] = A[M - T - t * T + ma, na * L + la]
        for mb in range(T):
            for nb in range(N // L):
                for lb in range(L):
                    b[M - T - t * T + mb, nb * L + lb] = B[M - T - t * T + mb, nb * L + lb]
        multiply[M, N, T, U](t, a, b, done)
        for m in range(T):
            for n in range(N // L):
                for l in range(L):
                    B[M - T - t * T + m, n * L + l] = done[m, n * L + l]


def schedule(size: tuple[int, ...], shape: Shape) -> Schedule:
    """Fetches, product and stores of different tiles run beside each other."""
    M, N = size
    at_once = shape.rows // TURNS
    inner = allo.customize(multiply, instantiate=[M, N, shape.rows, at_once])
    for loop in ("i0", "i", "u1"):
        inner.pipeline(loop)
    bank(inner, at_once, inner.sums)
    inner.partition(inner.sums, dim=2)
    inner.partition(inner.f)
    s = allo.customize(trmm, instantiate=[M, N, shape.rows, at_once, shape.lanes])
    s.compose(inner)
    for loop in ("na", "nb", "n"):
        s.pipeline(f"trmm:{loop}")
    s.dataflow(s.get_loops()["S_t_0"]["t"])
    bank_all(s, (*ARRAYS, "a"), (shape.lanes,) * 3)
    for array in (s.b, s.done):
        s.partition(array, dim=2)
    return s


def bytes_needed(size: tuple[int, ...]) -> dict[str, int]:
    """Bytes of each array that a run has to move, once."""
    M, N = size
    return {"A": 2 * M * (M - 1), "B": 8 * M * N}


__all__ = ["ARRAYS", "SHAPES", "SIZES", "bytes_needed", "inputs", "reference", "schedule"]
