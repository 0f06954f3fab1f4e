"""PolyBench gemm, float32: ``alpha * A @ B + beta * C``."""

from __future__ import annotations

import numpy as np

import allo
from allo.customize import Schedule
from allo.ir.types import float32

from ..arguments import normal
from ..product import product, reference_product, schedule_product
from ..scale import reference_scale_sum, scale_sum

# P, Q, R of (P, Q) @ (Q, R).
SIZES = {
    "tiny": (4, 6, 5),
    "mini": (20, 30, 25),
    "small": (60, 80, 70),
    "medium": (200, 240, 220),
}
LANES = 7


def gemm[P, Q, R](A: float32[P, Q], B: float32[Q, R], C: float32[P, R]) -> float32[P, R]:
    """``alpha * A @ B + beta * C``."""
    AB = product[float32, float32, P, R, Q](A, B)
    return scale_sum[float32, P, R](AB, C)


def schedule(lanes: int = LANES) -> Schedule:
    """The product as a row engine, then one pipelined sweep that scales and adds."""
    P, Q, R = SIZES["small"]
    s = allo.customize(gemm, instantiate=[P, Q, R])
    s.compose(schedule_product(float32, float32, (P, R, Q), lanes))
    s.pipeline("scale_sum:j")
    return s


def inputs(
    rng: np.random.Generator, size: tuple[int, ...] = SIZES["small"]
) -> tuple[np.ndarray, ...]:
    """Random A, B and C."""
    P, Q, R = size
    return normal(rng, (P, Q), (Q, R), (P, R))


def reference(A: np.ndarray, B: np.ndarray, C: np.ndarray) -> np.ndarray:
    """The kernel in NumPy, additions in the same order."""
    AB = reference_product(A, B, np.float32)
    return reference_scale_sum(AB, C)


# Multiplications and additions of floats in one run of the small size.
FLOAT_OPERATIONS = 2 * 60 * 80 * 70 + 3 * 60 * 70
