"""gemm: the product begins with the first tiles of A and B; tiles of C are stored behind it."""

from __future__ import annotations

import allo
from allo.customize import Schedule
from allo.ir.types import float32

from ..blas.gemm_in_place import SIZES, inputs, reference
from ..scale import alpha, beta
from .product import bank_all
from .shape import Shape
from .shells import TURNS, add_shells, bank_shells, schedule_shells

ARRAYS = ("A", "B", "C")
SHAPES = {
    "one": Shape(25, 20, (20, 19)),
    "many": Shape(25, 44, (48, 19)),
    "mini": Shape(10, 5, (10, 7)),
}
"""For one channel an array, for at most four, and for a small size: rows of a tile, lanes of B and C, of A;
rows of a tile of B in shells."""


def gemm[P, Q, R, T, U, D, F, LA, L](A: float32[P, Q], B: float32[Q, R], C: float32[P, R]):
    """``C = alpha * A @ B + beta * C``, tiles of T rows; copies take L elements, those of A LA."""
    a: float32[P, Q]
    b: float32[Q, R]
    c: float32[P, R]
    sums: float32[P, R] = 0
    for t in range(2 * (P // T)):
        done: float32[T, R]
        if t < P // T:
            for ma in range(T):
                for na in range(Q // LA):
                    for la in range(LA):
                        a[t * T + ma, na * LA + la] = A[t * T + ma, na * LA + la]
        if t < P // T:
            for mb in range(D):
                for nb in range(R // L):
                    for lb in range(L):
                        b[t * D + mb, nb * L + lb] = B[t * D + mb, nb * L + lb]
        if t < P // T:
            for mc in range(T):
                for nc in range(R // L):
                    for lc in range(L):
                        c[t * T + mc, nc * L + lc] = C[t * T + mc, nc * L + lc]
        add_shells[P, Q, R, T, U, D, F](t, a, b, sums, done)
        if t >= P // T:
            for m in range(T):
                for n in range(R // L):
                    for l in range(L):
                        old: float32 = c[t * T - P + m, n * L + l] * beta
                        C[t * T - P + m, n * L + l] = done[m, n * L + l] * alpha + old


def schedule(size: tuple[int, ...], shape: Shape) -> Schedule:
    """Fetches, shells and stores of different tiles run beside each other."""
    P, Q, R = size
    lanes, (of_a, in_shells) = shape.lanes, shape.each
    at_once, rows = shape.rows // TURNS, Q * shape.rows // P
    tiles = shape.rows, at_once, rows, in_shells
    s = allo.customize(gemm, instantiate=[*size, *tiles, of_a, lanes])
    s.compose(schedule_shells(*size, *tiles))
    for loop in ("na", "nb", "nc", "n"):
        s.pipeline(f"gemm:{loop}")
    s.dataflow(s.get_loops()["S_t_0"]["t"])
    bank_all(s, (*ARRAYS, "c"), (of_a, lanes, lanes, lanes))
    bank_shells(s, at_once, of_a)
    return s


def bytes_needed(size: tuple[int, ...]) -> dict[str, int]:
    """Bytes of each array that a run has to move, once."""
    p, q, r = size
    return {"A": 4 * p * q, "B": 4 * q * r, "C": 8 * p * r}


__all__ = ["ARRAYS", "SHAPES", "SIZES", "bytes_needed", "inputs", "reference", "schedule"]
