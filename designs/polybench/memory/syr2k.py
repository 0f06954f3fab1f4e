"""syr2k: rows of a tile, U at once, with each row of A and B up to the end of the tile; tiles overlap."""

from __future__ import annotations

import allo
from allo.customize import Schedule
from allo.ir.types import float32, index

from ..blas.syr2k import SIZES, inputs, reference
from ..scale import alpha, beta
from .product import bank_all
from .shape import Shape, bank

ARRAYS = ("A", "B", "C")
SHAPES = {
    "one": Shape(24, 16, (20, 3)),
    "many": Shape(24, 48, (40, 3)),
    "mini": Shape(6, 6, (10, 2)),
}
"""For one channel an array, at most four, and a small size: rows of a tile, lanes of C; lanes of A and B,
rows at once."""


def add_pairs[M, N, T, U](t: index, a: float32[N, M], b: float32[N, M], sums: float32[T, N]):
    """The rows of tile t of ``a @ b.T + b @ a.T`` up to the tile's end, U of them at once."""
    of_a: float32[T, M]
    of_b: float32[T, M]
    for v in range(T):
        for k0 in range(M):
            of_a[v, k0] = a[t * T + v, k0]
            of_b[v, k0] = b[t * T + v, k0]
    for r in range(t + 1):
        for j in range(T):
            for i in range(T // U):
                row_a: float32[M]
                row_b: float32[M]
                for k1 in range(M):
                    row_a[k1] = a[r * T + j, k1]
                    row_b[k1] = b[r * T + j, k1]
                for u in range(U):
                    total: float32 = 0
                    for k in allo.reduction(M):
                        total += of_b[i * U + u, k] * row_a[k] + of_a[i * U + u, k] * row_b[k]
                    sums[i * U + u, r * T + j] = total


def syr2k[M, N, T, U, L, LA](A: float32[N, M], B: float32[N, M], C: float32[N, N]):
    """``C = alpha * (A @ B.T + B @ A.T) + beta * C`` on the lower triangle, T rows at a time."""
    a: float32[N, M]
    b: float32[N, M]
    for t in range(N // T):
        c: float32[T, N]
        sums: float32[T, N]
        for ma in range(T):
            for na in range(M // LA):
                for la in range(LA):
                    a[t * T + ma, na * LA + la] = A[t * T + ma, na * LA + la]
        for mb in range(T):
            for nb in range(M // LA):
                for lb in range(LA):
                    b[t * T + mb, nb * LA + lb] = B[t * T + mb, nb * LA + lb]
        for mc in range(T):
            for nc in range(N // L):
                for lc in range(L):
                    c[mc, nc * L + lc] = C[t * T + mc, nc * L + lc]
        add_pairs[M, N, T, U](t, a, b, sums)
        for m in range(T):
            for n in range(N // L):
                for l in range(L):
                    old: float32 = c[m, n * L + l]
                    new: float32 = alpha * sums[m, n * L + l] + beta * old
                    C[t * T + m, n * L + l] = new if n * L + l <= t * T + m else old


def schedule(size: tuple[int, ...], shape: Shape) -> Schedule:
    """Fetches, sums and stores of different tiles run beside each other."""
    lanes, (other, at_once) = shape.lanes, shape.each
    inner = allo.customize(add_pairs, instantiate=[*size, shape.rows, at_once])
    for loop in ("v", "i"):
        inner.pipeline(loop)
    inner.rebalance("k")
    bank(inner, at_once, inner.of_a, inner.of_b)
    for array in (inner.of_a, inner.of_b):
        inner.partition(array, dim=2)
    for array in (inner.row_a, inner.row_b):
        inner.partition(array)
    s = allo.customize(syr2k, instantiate=[*size, shape.rows, at_once, lanes, other])
    s.compose(inner)
    for loop in ("na", "nb", "nc", "n"):
        s.pipeline(f"syr2k:{loop}")
    s.dataflow(s.get_loops()["S_t_0"]["t"])
    bank_all(s, (*ARRAYS, "c", "sums"), (other, other, lanes, lanes, lanes))
    bank(s, at_once, s.sums)
    for array in (s.a, s.b):
        s.partition(array, dim=2)
    return s


def bytes_needed(size: tuple[int, ...]) -> dict[str, int]:
    """Bytes of each array that a run has to move, once."""
    M, N = size
    return {"A": 4 * M * N, "B": 4 * M * N, "C": 4 * N * (N + 1)}


__all__ = ["ARRAYS", "SHAPES", "SIZES", "bytes_needed", "inputs", "reference", "schedule"]
