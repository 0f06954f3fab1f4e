"""PolyBench gemm, float32: ``alpha * A @ B + beta * C``."""

from __future__ import annotations

import numpy as np

import allo
from allo.customize import Schedule
from allo.ir.types import float32

from ..product import product, reference_product, schedule_product
from ..scale import reference_scale_sum, scale_sum

P, Q, R = 60, 80, 70
LANES = 7


def gemm(A: float32[P, Q], B: float32[Q, R], C: float32[P, R]) -> float32[P, R]:
    """``alpha * A @ B + beta * C``."""
    AB = product[float32, float32, P, R, Q](A, B)
    return scale_sum[float32, P, R](AB, C)


def schedule(lanes: int = LANES) -> Schedule:
    """The product as a row engine, then one pipelined sweep that scales and adds."""
    s = allo.customize(gemm)
    s.compose(schedule_product(float32, float32, (P, R, Q), lanes))
    s.pipeline("scale_sum:j")
    return s


def inputs(rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    """Random A, B and C."""
    shapes = ((P, Q), (Q, R), (P, R))
    return tuple(rng.standard_normal(shape, np.float32) for shape in shapes)


def reference(A: np.ndarray, B: np.ndarray, C: np.ndarray) -> np.ndarray:
    """The kernel in NumPy, additions in the same order."""
    AB = reference_product(A, B, np.float32)
    return reference_scale_sum(AB, C)


# Multiplications and additions of floats in one run.
FLOAT_OPERATIONS = 2 * P * Q * R + 3 * P * R
