"""The designs that ``scripts/demo`` shows, behind one shape."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from allo.customize import Schedule

from .blas import gemm, gemm_i8
from .products import two_mm


@dataclass(frozen=True, slots=True)
class Design:
    """One design.

    Attributes:
        name: the top function's name.
        title: what it computes and how large it is.
        schedule: makes the scheduled design.
        inputs: random arguments from a generator.
        reference: the same result from NumPy.
        float_operations: float multiplications and additions of one run.
    """

    name: str
    title: str
    schedule: Callable[[], Schedule]
    inputs: Callable[[np.random.Generator], tuple[np.ndarray, ...]]
    reference: Callable[..., np.ndarray]
    float_operations: int


DESIGNS = (
    Design(
        "gemm",
        "gemm fp32 60×70×80",
        gemm.schedule,
        gemm.inputs,
        gemm.reference,
        gemm.FLOAT_OPERATIONS,
    ),
    Design(
        "gemm_i8",
        "gemm int8→int32 60×70×80",
        gemm_i8.schedule,
        gemm_i8.inputs,
        gemm_i8.reference,
        gemm_i8.FLOAT_OPERATIONS,
    ),
    Design(
        "two_mm",
        "2mm fp32 40/50/70/80",
        two_mm.schedule,
        two_mm.inputs,
        two_mm.reference,
        two_mm.FLOAT_OPERATIONS,
    ),
)
