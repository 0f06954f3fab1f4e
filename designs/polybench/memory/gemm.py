"""gemm: A, B and C are fetched at once; then all columns of several rows are computed in a cycle."""

from __future__ import annotations

import allo
from allo.customize import Schedule
from allo.ir.types import float32

from ..blas.gemm_in_place import SIZES, inputs, reference
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

ARRAYS = ("A", "B", "C")
SHAPES = {"one": Shape(5, 20, (20,)), "many": Shape(5, 44, (48,)), "mini": Shape(2, 5, (10,))}
"""For one channel an array, for at most four, and for a small size: rows at once, lanes of B and C, of A."""


def fetch_all[P, Q, R, LA, L](
    A: float32[P, Q],
    B: float32[Q, R],
    C: float32[P, R],
    a: float32[P, Q],
    b: float32[Q, R],
    c: float32[P, R],
):
    """Every matrix on chip."""
    fetch[P, Q, P, Q, LA, "a"](A, a)
    fetch[Q, R, Q, R, L, "b"](B, b)
    fetch[P, R, P, R, L, "c"](C, c)


def gemm[P, Q, R, U, LA, L](A: float32[P, Q], B: float32[Q, R], C: float32[P, R]):
    """``C = alpha * A @ B + beta * C``, U rows at once; copies take L elements, those of A LA."""
    a: float32[P, Q]
    b: float32[Q, R]
    c: float32[P, R]
    sums: float32[P, R] = 0
    fetch_all[P, Q, R, LA, L](A, B, C, a, b, c)
    add_product[P, U, Q, R](Q, a, b, sums)
    for i1 in range(P // U):
        for u1 in range(U):
            for j1 in range(R // L):
                for l1 in range(L):
                    old: float32 = c[i1 * U + u1, j1 * L + l1] * beta
                    C[i1 * U + u1, j1 * L + l1] = sums[i1 * U + u1, j1 * L + l1] * alpha + old


def schedule(size: tuple[int, ...], shape: Shape) -> Schedule:
    """The design."""
    P, Q, R = size
    at_once, lanes, of_a = shape.rows, shape.lanes, shape.each[0]
    s = allo.customize(gemm, instantiate=[*size, at_once, of_a, lanes])
    s.compose(schedule_product(P, at_once, Q, R))
    fetch_at_once(s, "fetch_all", "abc")
    s.pipeline("j1")
    bank_all(s, ARRAYS, (of_a, lanes, lanes))
    bank_product(s, at_once, of_a, "a", "b", "sums")
    bank(s, lanes, s.c, dim=2)
    return s


def bytes_needed(size: tuple[int, ...]) -> dict[str, int]:
    """Bytes of each array that a run has to move, once."""
    p, q, r = size
    return {"A": 4 * p * q, "B": 4 * q * r, "C": 8 * p * r}


__all__ = ["ARRAYS", "SHAPES", "SIZES", "bytes_needed", "inputs", "reference", "schedule"]
