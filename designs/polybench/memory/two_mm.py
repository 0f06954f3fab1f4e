"""2mm: all four matrices are fetched at once, and one array of multipliers works on both products."""

from __future__ import annotations

from math import gcd

import allo
from allo.customize import Schedule
from allo.ir.types import float32

from ..products.two_mm_in_place import SIZES, inputs, reference
from ..scale import alpha, beta
from .product import (
    add_product,
    bank_all,
    bank_product,
    fetch,
    fetch_at_once,
    schedule_product,
)
from .shape import Shape, bank

ARRAYS = ("A", "B", "C", "D")
SHAPES = {
    "one": Shape(6, 20, (30, 19, 20)),
    "many": Shape(6, 44, (30, 38, 44)),
    "mini": Shape(4, 6, (11, 6, 6)),
}
"""For one channel an array, for at most four, and for a small size: rows at once, lanes of D; of A, B, C."""


def fetch_all[P, R, Q, S, LA, LB, LC, LD](
    A: float32[P, Q],
    B: float32[Q, R],
    C: float32[R, S],
    D: float32[P, S],
    a: float32[P, Q],
    b: float32[Q, S],
    c: float32[R, S],
    d: float32[P, S],
):
    """Every matrix on chip."""
    fetch[P, Q, P, Q, LA, "a"](A, a)
    fetch[Q, R, Q, S, LB, "b"](B, b)
    fetch[R, S, R, S, LC, "c"](C, c)
    fetch[P, S, P, S, LD, "d"](D, d)


def two_mm[P, R, Q, S, U, LA, LB, LC, LD, LM](
    A: float32[P, Q], B: float32[Q, R], C: float32[R, S], D: float32[P, S]
):
    """``D = alpha * A @ B @ C + beta * D``; both products with the columns of the wider one."""
    a: float32[P, Q]
    b: float32[Q, S] = 0
    c: float32[R, S]
    d: float32[P, S]
    sums: float32[P, S] = 0
    fetch_all[P, R, Q, S, LA, LB, LC, LD](A, B, C, D, a, b, c, d)
    add_product[P, U, Q, S](Q, a, b, sums)
    for i1 in range(P // U):
        for j1 in range(R // LM):
            for u1 in range(U):
                for l1 in range(LM):
                    a[i1 * U + u1, j1 * LM + l1] = sums[i1 * U + u1, j1 * LM + l1] * alpha
    for k2 in range(R):
        for j2 in range(S):
            b[k2, j2] = c[k2, j2]
    for i3 in range(P // U):
        for j3 in range(S):
            for u3 in range(U):
                sums[i3 * U + u3, j3] = 0
    add_product[P, U, Q, S](R, a, b, sums)
    for i4 in range(P // U):
        for u4 in range(U):
            for j4 in range(S // LD):
                for l4 in range(LD):
                    old: float32 = d[i4 * U + u4, j4 * LD + l4] * beta
                    D[i4 * U + u4, j4 * LD + l4] = sums[i4 * U + u4, j4 * LD + l4] + old


def schedule(size: tuple[int, ...], shape: Shape) -> Schedule:
    """The design."""
    P, R, Q, S = size
    lanes = (*shape.each, shape.lanes)
    moved = gcd(R, lanes[0])
    s = allo.customize(two_mm, instantiate=[*size, shape.rows, *lanes, moved])
    s.compose(schedule_product(P, shape.rows, Q, S))
    fetch_at_once(s, "fetch_all", "abcd")
    for loop in ("j1", "k2", "i3", "j4"):
        s.pipeline(loop)
    bank_all(s, ARRAYS, lanes)
    bank_product(s, shape.rows, lanes[0], "a", "b", "sums")
    bank(s, lanes[3], s.d, dim=2)
    s.partition(s.c, dim=2)
    return s


def bytes_needed(size: tuple[int, ...]) -> dict[str, int]:
    """Bytes of each array that a run has to move, once."""
    P, R, Q, S = size
    return {"A": 4 * P * Q, "B": 4 * Q * R, "C": 4 * R * S, "D": 8 * P * S}


__all__ = ["ARRAYS", "SHAPES", "SIZES", "bytes_needed", "inputs", "reference", "schedule"]
