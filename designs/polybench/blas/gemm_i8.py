"""An 8-bit gemm with 32-bit sums: ``A @ B + C``."""

from __future__ import annotations

import numpy as np

import allo
from allo.customize import Schedule
from allo.ir.types import int8, int32

from ..product import product, reference_product, schedule_product

P, Q, R = 60, 80, 70
LANES = 14


def accumulate[T, M, N](AB: T[M, N], C: T[M, N]) -> T[M, N]:
    """``AB + C``."""
    out: T[M, N]
    for i, j in allo.grid(M, N, name="sum"):
        out[i, j] = AB[i, j] + C[i, j]
    return out


def gemm_i8(A: int8[P, Q], B: int8[Q, R], C: int32[P, R]) -> int32[P, R]:
    """``A @ B + C``, factors of 8 bits, sums of 32."""
    AB = product[int8, int32, P, R, Q](A, B)
    return accumulate[int32, P, R](AB, C)


def schedule(lanes: int = LANES) -> Schedule:
    """The product as a row engine, then one pipelined sweep that adds C."""
    s = allo.customize(gemm_i8)
    s.compose(schedule_product(int8, int32, (P, R, Q), lanes))
    s.pipeline("accumulate:j")
    return s


def inputs(rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    """Random A, B over all of int8, and C."""
    A = rng.integers(-128, 128, (P, Q), np.int8)
    B = rng.integers(-128, 128, (Q, R), np.int8)
    C = rng.integers(-(2**31), 2**31, (P, R), np.int32)
    return A, B, C


def reference(A: np.ndarray, B: np.ndarray, C: np.ndarray) -> np.ndarray:
    """The kernel in NumPy; sums wrap at 32 bits."""
    total: np.ndarray = reference_product(A, B, np.int32) + C
    return total


FLOAT_OPERATIONS = 0
