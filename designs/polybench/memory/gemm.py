"""gemm, tile by tile: rows of C from all of B on chip, while the next rows of A and C are fetched."""

from __future__ import annotations

import allo
from allo.customize import Schedule
from allo.ir.types import float32

from ..blas.gemm_in_place import SIZES, inputs, reference
from ..scale import alpha, beta
from .shape import Shape, bank

ARRAYS = ("A", "B", "C")
SHAPES = {"one": Shape(40, 44), "many": Shape(40, 44), "mini": Shape(10, 5)}
"""For one channel an array, for at most four, and for a small size; the lanes are those of B and C."""
LANES_OF_A = 10
TURNS = 10
"""Cycles between two additions to one element, and groups of rows in a tile."""


def gemm[P, Q, R, T, U, L](A: float32[P, Q], B: float32[Q, R], C: float32[P, R]):
    """``C = alpha * A @ B + beta * C``, T rows at a time, U of them at once; copies take L elements."""
    b: float32[Q, R]
    for k0 in range(Q):
        for j0 in range(R // L):
            for l0 in range(L):
                b[k0, j0 * L + l0] = B[k0, j0 * L + l0]
    for t in range(P // T):
        c: float32[T, R]
        for i1 in range(T):
            for j1 in range(R // L):
                for l1 in range(L):
                    c[i1, j1 * L + l1] = C[t * T + i1, j1 * L + l1] * beta
        for k in range(Q):
            for i in range(T // U):
                for u in range(U):
                    a: float32 = A[t * T + i * U + u, k] * alpha
                    for j in range(R):
                        c[i * U + u, j] += a * b[k, j]
        for i2 in range(T):
            for j2 in range(R // L):
                for l2 in range(L):
                    C[t * T + i2, j2 * L + l2] = c[i2, j2 * L + l2]


def schedule(size: tuple[int, ...], shape: Shape, *, cached: bool = True) -> Schedule:
    """The design; without ``cached``, for arrays that are on chip already."""
    at_once, lanes = shape.rows // TURNS, shape.lanes
    s = allo.customize(gemm, instantiate=[*size, shape.rows, at_once, lanes])
    for loop in ("j0", "j1", "i", "j2"):
        s.pipeline(loop)
    of_a = min(lanes, LANES_OF_A)
    bank(s, of_a, s.A, dim=2)
    bank(s, lanes, s.B, s.C, dim=2)
    for array in (s.b, s.c):
        s.partition(array, dim=2)
    if at_once > 1:
        bank(s, at_once, s.c)
    tile_of_a = s.A
    if cached:
        tile_of_a = s.cache(s.A, "t", double_buffer=True, lanes=of_a)
        bank(s, of_a, tile_of_a, dim=2)
        bank(s, lanes, s.cache(s.C, "t", lanes=lanes), dim=2)
    if at_once > 1:
        bank(s, at_once, tile_of_a)
    return s


def bytes_needed(size: tuple[int, ...]) -> dict[str, int]:
    """Bytes of each array that a run has to move, once."""
    p, q, r = size
    return {"A": 4 * p * q, "B": 4 * q * r, "C": 8 * p * r}


__all__ = ["ARRAYS", "SHAPES", "SIZES", "bytes_needed", "inputs", "reference", "schedule"]
