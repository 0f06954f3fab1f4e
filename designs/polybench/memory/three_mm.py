"""3mm: all four matrices are fetched at once, and one array of multipliers works on three products."""

from __future__ import annotations

from math import gcd

import allo
from allo.customize import Schedule
from allo.ir.types import float32

from ..products.three_mm import SIZES, inputs, reference
from .product import (
    add_product,
    bank_all,
    bank_product,
    fetch,
    fetch_at_once,
    schedule_product,
)
from .shape import Shape, bank

ARRAYS = ("A", "B", "C", "D", "G")
SHAPES = {
    "one": Shape(6, 15, (20, 19, 20, 15)),
    "many": Shape(6, 42, (20, 38, 20, 42)),
    "mini": Shape(4, 11, (10, 9, 6, 11)),
}
"""For one channel an array, at most four, and a small size: rows at once, lanes of G; of A, B, C, D."""


def fetch_all[P, R, Q, T, S, X, LA, LB, LC, LD](
    A: float32[P, Q],
    B: float32[Q, R],
    C: float32[R, S],
    D: float32[S, T],
    a: float32[X, Q],
    b: float32[Q, R],
    c: float32[X, S],
    d: float32[S, T],
):
    """Every matrix on chip."""
    fetch[P, Q, X, Q, LA, "a"](A, a)
    fetch[Q, R, Q, R, LB, "b"](B, b)
    fetch[R, S, X, S, LC, "c"](C, c)
    fetch[S, T, S, T, LD, "d"](D, d)


def three_mm[P, R, Q, T, S, X, U, LA, LB, LC, LD, LG, LM](
    A: float32[P, Q], B: float32[Q, R], C: float32[R, S], D: float32[S, T], G: float32[P, T]
):
    """``G = (A @ B) @ (C @ D)``; C @ D comes first, and all products have X rows and T columns."""
    a: float32[X, Q] = 0
    b: float32[Q, R]
    left: float32[X, S] = 0
    right: float32[S, T]
    cd: float32[R, T]
    sums: float32[X, T] = 0
    fetch_all[P, R, Q, T, S, X, LA, LB, LC, LD](A, B, C, D, a, b, left, right)
    add_product[X, U, S, T](S, left, right, sums)
    for k1 in range(R):
        for j1 in range(T):
            cd[k1, j1] = sums[k1, j1]
    for i2 in range(X // U):
        for j2 in range(Q // LA):
            for u2 in range(U):
                for l2 in range(LA):
                    left[i2 * U + u2, j2 * LA + l2] = a[i2 * U + u2, j2 * LA + l2]
    for k3 in range(Q):
        for j3 in range(R):
            right[k3, j3] = b[k3, j3]
    for i4 in range(X // U):
        for j4 in range(T):
            for u4 in range(U):
                sums[i4 * U + u4, j4] = 0
    add_product[X, U, S, T](Q, left, right, sums)
    for i5 in range(X // U):
        for j5 in range(R // LM):
            for u5 in range(U):
                for l5 in range(LM):
                    left[i5 * U + u5, j5 * LM + l5] = sums[i5 * U + u5, j5 * LM + l5]
    for k6 in range(R):
        for j6 in range(T):
            right[k6, j6] = cd[k6, j6]
    for i7 in range(X // U):
        for j7 in range(T):
            for u7 in range(U):
                sums[i7 * U + u7, j7] = 0
    add_product[X, U, S, T](R, left, right, sums)
    for i8 in range(P):
        for j8 in range(T // LG):
            for l8 in range(LG):
                G[i8, j8 * LG + l8] = sums[i8, j8 * LG + l8]


def schedule(size: tuple[int, ...], shape: Shape) -> Schedule:
    """The design."""
    P, R, Q, T, S = size
    lanes = (*shape.each, shape.lanes)
    rows = -(-max(P, R) // shape.rows) * shape.rows
    moved = gcd(R, lanes[2])
    s = allo.customize(three_mm, instantiate=[*size, rows, shape.rows, *lanes, moved])
    s.compose(schedule_product(rows, shape.rows, S, T))
    fetch_at_once(s, "fetch_all", "abcd")
    for loop in ("k1", "j2", "k3", "i4", "j5", "k6", "i7", "j8"):
        s.pipeline(loop)
    bank_all(s, ARRAYS, lanes)
    bank_product(s, shape.rows, lanes[2], "left", "right", "sums")
    bank(s, shape.rows, s.a)
    bank(s, lanes[0], s.a, dim=2)
    for array in (s.b, s.cd):
        s.partition(array, dim=2)
    return s


def bytes_needed(size: tuple[int, ...]) -> dict[str, int]:
    """Bytes of each array that a run has to move, once."""
    P, R, Q, T, S = size
    return {"A": 4 * P * Q, "B": 4 * Q * R, "C": 4 * R * S, "D": 4 * S * T, "G": 4 * P * T}


__all__ = ["ARRAYS", "SHAPES", "SIZES", "bytes_needed", "inputs", "reference", "schedule"]
