"""symm: the product begins with the first tiles of A and B; A is kept twice, to be read both ways.

Tile t of A's rows holds what is below the diagonal in the squares of the next :mod:`.shells`.
"""

from __future__ import annotations

import allo
from allo.customize import Schedule
from allo.ir.types import float32, index

from ..blas.symm import SIZES, inputs, reference
from ..scale import alpha, beta
from .product import bank_all
from .shape import Shape, bank
from .shells import TURNS

ARRAYS = ("A", "B", "C")
SHAPES = {
    "one": Shape(25, 20, (20, 14)),
    "many": Shape(25, 40, (40, 14)),
    "mini": Shape(10, 10, (10, 6)),
}
"""For one channel an array, at most four, and a small size: rows of a tile, lanes of B and C, of A; rows of
a tile of B in shells."""


def add_shells[M, N, T, U, F](
    t: index,
    rows: float32[M, M],
    columns: float32[M, M],
    b: float32[M, N],
    sums: float32[M, N],
    done: float32[T, N],
):
    """A shell of squares of A in the first M / T turns, a tile of ``done`` in each behind them."""
    if t < M // T:
        for c1 in range(t + 1):
            for k1 in range(F):
                for i1 in range(T // U):
                    e1: float32[U]
                    for u1 in range(U):
                        below: float32 = rows[t * T + i1 * U + u1, c1 * T + k1]
                        above: float32 = columns[c1 * T + k1, t * T + i1 * U + u1]
                        e1[u1] = (below if c1 * T + k1 <= t * T + i1 * U + u1 else above) * alpha
                    for j1 in range(N):
                        row1: float32 = b[c1 * T + k1, j1]
                        for v1 in range(U):
                            sums[t * T + i1 * U + v1, j1] += e1[v1] * row1
        for r in range(t):
            for k in range(F):
                for i in range(T // U):
                    e: float32[U]
                    for u in range(U):
                        e[u] = columns[t * T + k, r * T + i * U + u] * alpha
                    for j in range(N):
                        row: float32 = b[t * T + k, j]
                        for v in range(U):
                            sums[r * T + i * U + v, j] += e[v] * row
    else:
        for c2 in range(M // T):
            for k2 in range(T - F):
                for i2 in range(T // U):
                    e2: float32[U]
                    for u2 in range(U):
                        under: float32 = rows[t * T - M + i2 * U + u2, c2 * T + F + k2]
                        over: float32 = columns[c2 * T + F + k2, t * T - M + i2 * U + u2]
                        e2[u2] = (
                            under if c2 * T + F + k2 <= t * T - M + i2 * U + u2 else over
                        ) * alpha
                    for j2 in range(N):
                        row2: float32 = b[c2 * T + F + k2, j2]
                        for v2 in range(U):
                            sums[t * T - M + i2 * U + v2, j2] += e2[v2] * row2
        for i3 in range(T // U):
            for u3 in range(U):
                for j3 in range(N):
                    done[i3 * U + u3, j3] = sums[t * T - M + i3 * U + u3, j3]


def symm[M, N, T, U, F, L, LA](A: float32[M, M], B: float32[M, N], C: float32[M, N]):
    """``C = alpha * A @ B + beta * C``, tiles of T rows."""
    rows: float32[M, M]
    columns: float32[M, M]
    b: float32[M, N]
    c: float32[M, N]
    sums: float32[M, N] = 0
    for t in range(2 * (M // T)):
        done: float32[T, N]
        if t < M // T:
            for ma in range(T):
                for na in range(M // LA):
                    for la in range(LA):
                        f: float32 = A[t * T + ma, na * LA + la]
                        rows[t * T + ma, na * LA + la] = f
                        columns[t * T + ma, na * LA + la] = f
        if t < M // T:
            for mb in range(T):
                for nb in range(N // L):
                    for lb in range(L):
                        b[t * T + mb, nb * L + lb] = B[t * T + mb, nb * L + lb]
        if t < M // T:
            for mc in range(T):
                for nc in range(N // L):
                    for lc in range(L):
                        c[t * T + mc, nc * L + lc] = C[t * T + mc, nc * L + lc]
        add_shells[M, N, T, U, F](t, rows, columns, b, sums, done)
        if t >= M // T:
            for m in range(T):
                for n in range(N // L):
                    for l in range(L):
                        old: float32 = c[t * T - M + m, n * L + l] * beta
                        C[t * T - M + m, n * L + l] = done[m, n * L + l] + old


def schedule(size: tuple[int, ...], shape: Shape) -> Schedule:
    """Fetches, shells and stores of different tiles run beside each other."""
    lanes, (of_a, in_shells) = shape.lanes, shape.each
    at_once = shape.rows // TURNS
    tiles = shape.rows, at_once, in_shells
    inner = allo.customize(add_shells, instantiate=[*size, *tiles])
    for loop in ("i", "i1", "i2", "i3"):
        inner.pipeline(loop)
    for array in (inner.e, inner.e1, inner.e2):
        inner.partition(array)
    s = allo.customize(symm, instantiate=[*size, *tiles, lanes, of_a])
    s.compose(inner)
    for loop in ("na", "nb", "nc", "n"):
        s.pipeline(f"symm:{loop}")
    s.dataflow(s.get_loops()["S_t_0"]["t"])
    bank_all(s, (*ARRAYS, "rows", "columns", "c"), (of_a, lanes, lanes, of_a, of_a, lanes))
    bank(s, at_once, s.rows, s.sums, s.done)
    for array in (s.b, s.sums, s.done):
        s.partition(array, dim=2)
    return s


def bytes_needed(size: tuple[int, ...]) -> dict[str, int]:
    """Bytes of each array that a run has to move, once."""
    M, N = size
    return {"A": 2 * M * (M + 1), "B": 4 * M * N, "C": 8 * M * N}


__all__ = ["ARRAYS", "SHAPES", "SIZES", "bytes_needed", "inputs", "reference", "schedule"]
