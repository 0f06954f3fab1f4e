"""A product of matrices that begins with their first tiles, and ends with the store of the last one.

A has tiles of T rows, and B as many tiles of D rows. When tile t of both is there, the products of all tiles
of A with tile t of B are computed, and those of tile t of A with all tiles of B: in a square of tiles, the
next shell. Of each tile of B only the first F rows are taken so. The other ones are left for the end, when
the rows of the result are finished tile by tile, and stored behind.
"""

from __future__ import annotations

import allo
from allo.customize import Schedule
from allo.ir.types import float32, index

from .shape import bank

TURNS = 5
"""Cycles between two additions to one element, and groups of rows in a tile."""


def add_shells[P, K, J, T, U, D, F](
    t: index, a: float32[P, K], b: float32[K, J], sums: float32[P, J], done: float32[T, J]
):
    """In the first P / T turns one shell, in as many behind them a tile of ``done`` each; U rows together."""
    if t < P // T:
        for r in range(t):
            for k in range(F):
                for i in range(T // U):
                    e: float32[U]
                    for u in range(U):
                        e[u] = a[r * T + i * U + u, t * D + k]
                    for j in range(J):
                        row: float32 = b[t * D + k, j]
                        for v in range(U):
                            sums[r * T + i * U + v, j] += e[v] * row
        for c1 in range(t + 1):
            for k1 in range(F):
                for i1 in range(T // U):
                    e1: float32[U]
                    for u1 in range(U):
                        e1[u1] = a[t * T + i1 * U + u1, c1 * D + k1]
                    for j1 in range(J):
                        row1: float32 = b[c1 * D + k1, j1]
                        for v1 in range(U):
                            sums[t * T + i1 * U + v1, j1] += e1[v1] * row1
    else:
        for c2 in range(P // T):
            for k2 in range(D - F):
                for i2 in range(T // U):
                    e2: float32[U]
                    for u2 in range(U):
                        e2[u2] = a[t * T - P + i2 * U + u2, c2 * D + F + k2]
                    for j2 in range(J):
                        row2: float32 = b[c2 * D + F + k2, j2]
                        for v2 in range(U):
                            sums[t * T - P + i2 * U + v2, j2] += e2[v2] * row2
        for i3 in range(T // U):
            for u3 in range(U):
                for j3 in range(J):
                    done[i3 * U + u3, j3] = sums[t * T - P + i3 * U + u3, j3]


def schedule_shells(*sizes: int) -> Schedule:
    """All columns of U rows in a cycle; ``sizes`` are those of :func:`add_shells`."""
    s = allo.customize(add_shells, instantiate=[*sizes])
    for loop in ("i", "i1", "i2", "i3"):
        s.pipeline(loop)
    for array in (s.e, s.e1, s.e2):
        s.partition(array)
    return s


def bank_shells(s: Schedule, at_once: int, lanes: int) -> None:
    """Banks of a, b, sums and done: rows at once, lanes of a as it is fetched, all columns of others."""
    bank(s, at_once, s.a, s.sums, s.done)
    bank(s, lanes, s.a, dim=2)
    for array in (s.b, s.sums, s.done):
        s.partition(array, dim=2)
