"""PolyBench 2mm, float32: ``alpha * A @ B @ C + beta * D``."""

from __future__ import annotations

import numpy as np

import allo
from allo.customize import Schedule
from allo.ir.types import float32

from ..product import product, reference_product, schedule_product
from ..scale import reference_scale_sum, scale_sum

P, R, Q, S = 40, 50, 70, 80
LANES_AB = 5
LANES_ABC = 8


def two_mm(A: float32[P, Q], B: float32[Q, R], C: float32[R, S], D: float32[P, S]) -> float32[P, S]:
    """``alpha * A @ B @ C + beta * D``."""
    AB = product[float32, float32, P, R, Q, "ab"](A, B)
    ABC = product[float32, float32, P, S, R, "abc"](AB, C)
    return scale_sum[float32, P, S](ABC, D)


def schedule(lanes_ab: int = LANES_AB, lanes_abc: int = LANES_ABC) -> Schedule:
    """Two row engines, one after the other, then a pipelined sweep that scales and adds."""
    s = allo.customize(two_mm)
    s.compose(schedule_product(float32, float32, (P, R, Q), lanes_ab), id="ab")
    s.compose(schedule_product(float32, float32, (P, S, R), lanes_abc), id="abc")
    s.pipeline("scale_sum:j")
    return s


def inputs(rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    """Random A, B, C and D."""
    shapes = ((P, Q), (Q, R), (R, S), (P, S))
    return tuple(rng.standard_normal(shape, np.float32) for shape in shapes)


def reference(A: np.ndarray, B: np.ndarray, C: np.ndarray, D: np.ndarray) -> np.ndarray:
    """The kernel in NumPy, additions in the same order."""
    AB = reference_product(A, B, np.float32)
    ABC = reference_product(AB, C, np.float32)
    return reference_scale_sum(ABC, D)


# Multiplications and additions of floats in one run.
FLOAT_OPERATIONS = 2 * P * Q * R + 2 * P * R * S + 3 * P * S
