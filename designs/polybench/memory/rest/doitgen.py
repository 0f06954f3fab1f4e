"""doitgen: rows of A pass in place, some of them multiplied while others are fetched and stored."""

from __future__ import annotations

import allo
from allo.customize import Schedule
from allo.ir.types import float32

from ..product import bank_all, fetch
from ..shape import bank

TURNS = 10
"""Cycles between two additions to one element."""
AT_ONCE = 2
"""Rows that are multiplied at once, at most; of 10 turns of them, a tile consists."""
LANES = 16


def multiply[P, S, T, U](a: float32[T, S], c: float32[S, P], done: float32[T, P]):
    """``done = a @ c`` for T rows, U of them at once."""
    sums: float32[T, P]
    for i0 in range(T // U):
        for u0 in range(U):
            for p0 in range(P):
                sums[i0 * U + u0, p0] = 0
    for s in range(S):
        for i in range(T // U):
            for u in range(U):
                e: float32 = a[i * U + u, s]
                for p in range(P):
                    sums[i * U + u, p] += e * c[s, p]
    for i1 in range(T // U):
        for u1 in range(U):
            for p1 in range(P):
                done[i1 * U + u1, p1] = sums[i1 * U + u1, p1]


def doitgen[Q, R, P, S, T, U, L](C4: float32[S, P], A: float32[R, Q, S]):
    """``A[r, q] = A[r, q] @ C4`` for every r and q, T rows at a time."""
    c: float32[S, P]
    fetch[S, P, S, P, L, "c"](C4, c)
    for t in range(R * Q // T):
        a: float32[T, S]
        done: float32[T, P]
        for m in range(T):
            for n in range(S // L):
                for l in range(L):
                    a[m, n * L + l] = A[(t * T + m) // Q, (t * T + m) % Q, n * L + l]
        multiply[P, S, T, U](a, c, done)
        for m1 in range(T):
            for n1 in range(P // L):
                for l1 in range(L):
                    A[(t * T + m1) // Q, (t * T + m1) % Q, n1 * L + l1] = done[m1, n1 * L + l1]


def schedule(size: tuple[int, ...]) -> Schedule:
    """Fetches, products and stores of different rows run beside each other."""
    Q, R, P, S = size
    lanes = max(k for k in range(1, LANES + 1) if S % k == 0)
    tile = max(k for k in range(1, TURNS * AT_ONCE + 1) if Q % k == 0)
    at_once = AT_ONCE if tile % AT_ONCE == 0 and tile >= 8 * AT_ONCE else 1
    inner = allo.customize(multiply, instantiate=[P, S, tile, at_once])
    for loop in ("i0", "i", "u1"):
        inner.pipeline(loop)
    if at_once > 1:
        bank(inner, at_once, inner.sums)
    inner.partition(inner.sums, dim=2)
    s = allo.customize(doitgen, instantiate=[*size, tile, at_once, lanes])
    s.compose(inner)
    s.pipeline("fetch_c:n")
    for loop in ("n", "n1"):
        s.pipeline(f"doitgen:{loop}")
    s.dataflow(s.get_loops()["S_t_0"]["t"])
    bank_all(s, ("C4", "a"), (lanes, lanes))
    bank(s, lanes, s.A, dim=3)
    if at_once > 1:
        bank(s, at_once, s.a)
    for array in (s.c, s.done):
        s.partition(array, dim=2)
    return s


__all__ = ["schedule"]
