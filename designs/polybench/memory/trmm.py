"""trmm: a tile of rows, as soon as it is there, is added to all that need it, and is complete itself.

The last rows come first: they need no others. So most work is at the beginning, beside the loads, and least
in front of the last store.
"""

from __future__ import annotations

import allo
from allo.customize import Schedule
from allo.ir.types import float32, index

from ..blas.trmm import SIZES, inputs, reference
from ..scale import alpha
from .product import bank_all
from .shape import Shape, bank

ARRAYS = ("A", "B")
SHAPES = {
    "one": Shape(40, 20, (4,)),
    "many": Shape(25, 40, (5,)),
    "mini": Shape(10, 10, (2,)),
}
"""For one channel an array, for at most four, and for a small size: rows of a tile, lanes, rows at once.

With one channel, the core is about as fast as the channel brings and takes its bytes.
"""


def add_tile[M, N, T, U](
    t: index, a: float32[M, M], b: float32[M, N], sums: float32[M, N], done: float32[T, N]
):
    """Add what tile t of b gives to tiles t and up, counted from the last rows; then tile t is ``done``."""
    for c in range(M // T - t):
        for k in range(T):
            for i in range(T // U):
                f: float32[U]
                for u in range(U):
                    below: float32 = a[t * T + k, c * T + i * U + u] * alpha
                    e: float32 = below if k > i * U + u or c < M // T - 1 - t else 0.0
                    f[u] = alpha if k == i * U + u and c == M // T - 1 - t else e
                for j in range(N):
                    row: float32 = b[t * T + k, j]
                    for v in range(U):
                        sums[c * T + i * U + v, j] += f[v] * row
    for i1 in range(T // U):
        for u1 in range(U):
            for j1 in range(N):
                done[i1 * U + u1, j1] = sums[M - T - t * T + i1 * U + u1, j1]


def trmm[M, N, T, U, L](A: float32[M, M], B: float32[M, N]):
    """``B = alpha * A.T @ B``, T rows at a time."""
    a: float32[M, M]
    b: float32[M, N]
    sums: float32[M, N] = 0
    for t in range(M // T):
        done: float32[T, N]
        for ma in range(T):
            for na in range(M // L):
                for la in range(L):
                    a[t * T + ma, na * L + la] = A[M - T - t * T + ma, na * L + la]
        for mb in range(T):
            for nb in range(N // L):
                for lb in range(L):
                    b[t * T + mb, nb * L + lb] = B[M - T - t * T + mb, nb * L + lb]
        add_tile[M, N, T, U](t, a, b, sums, done)
        for m in range(T):
            for n in range(N // L):
                for l in range(L):
                    B[M - T - t * T + m, n * L + l] = done[m, n * L + l]


def schedule(size: tuple[int, ...], shape: Shape) -> Schedule:
    """Fetches, sums and stores of different tiles run beside each other."""
    M, N = size
    at_once = shape.each[0]
    inner = allo.customize(add_tile, instantiate=[M, N, shape.rows, at_once])
    for loop in ("i", "i1"):
        inner.pipeline(loop)
    inner.partition(inner.f)
    s = allo.customize(trmm, instantiate=[M, N, shape.rows, at_once, shape.lanes])
    s.compose(inner)
    for loop in ("na", "nb", "n"):
        s.pipeline(f"trmm:{loop}")
    s.dataflow(s.get_loops()["S_t_0"]["t"])
    bank_all(s, (*ARRAYS, "a"), (shape.lanes,) * 3)
    bank(s, at_once, s.sums, s.done)
    for array in (s.b, s.sums, s.done):
        s.partition(array, dim=2)
    return s


def bytes_needed(size: tuple[int, ...]) -> dict[str, int]:
    """Bytes of each array that a run has to move, once."""
    M, N = size
    return {"A": 2 * M * (M - 1), "B": 8 * M * N}


__all__ = ["ARRAYS", "SHAPES", "SIZES", "bytes_needed", "inputs", "reference", "schedule"]
