"""PolyBench 2mm, float32: ``alpha * A @ B @ C + beta * D``."""

from __future__ import annotations

import numpy as np

import allo
from allo.customize import Schedule
from allo.ir.types import float32

from ..arguments import normal
from ..product import product, reference_product, schedule_product
from ..scale import reference_scale_sum, scale_sum

# P, R, Q, S of (P, Q) @ (Q, R) @ (R, S).
SIZES = {
    "tiny": (4, 5, 6, 7),
    "mini": (16, 18, 22, 24),
    "small": (40, 50, 70, 80),
    "medium": (180, 190, 210, 220),
}
LANES_AB = 5
LANES_ABC = 8


def two_mm[P, R, Q, S](
    A: float32[P, Q], B: float32[Q, R], C: float32[R, S], D: float32[P, S]
) -> float32[P, S]:
    """``alpha * A @ B @ C + beta * D``."""
    AB = product[float32, float32, P, R, Q, "ab"](A, B)
    ABC = product[float32, float32, P, S, R, "abc"](AB, C)
    return scale_sum[float32, P, S](ABC, D)


def schedule(lanes_ab: int = LANES_AB, lanes_abc: int = LANES_ABC) -> Schedule:
    """Two row engines, one after the other, then a pipelined sweep that scales and adds."""
    P, R, Q, S = SIZES["small"]
    s = allo.customize(two_mm, instantiate=[P, R, Q, S])
    s.compose(schedule_product(float32, float32, (P, R, Q), lanes_ab), id="ab")
    s.compose(schedule_product(float32, float32, (P, S, R), lanes_abc), id="abc")
    s.pipeline("scale_sum:j")
    return s


def inputs(
    rng: np.random.Generator, size: tuple[int, ...] = SIZES["small"]
) -> tuple[np.ndarray, ...]:
    """Random A, B, C and D."""
    P, R, Q, S = size
    return normal(rng, (P, Q), (Q, R), (R, S), (P, S))


def reference(A: np.ndarray, B: np.ndarray, C: np.ndarray, D: np.ndarray) -> np.ndarray:
    """The kernel in NumPy, additions in the same order."""
    AB = reference_product(A, B, np.float32)
    ABC = reference_product(AB, C, np.float32)
    return reference_scale_sum(ABC, D)


# Multiplications and additions of floats in one run of the small size.
FLOAT_OPERATIONS = 2 * 40 * 70 * 50 + 2 * 40 * 50 * 80 + 3 * 40 * 80
