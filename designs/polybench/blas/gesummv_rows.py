"""PolyBench gesummv as its text has it, both products in one nest: ``y = alpha * A @ x + beta * B @ x``."""

from __future__ import annotations

import allo
from allo.ir.types import float32, int32

from ..scale import alpha, beta
from .gesummv import SIZES, inputs, reference


def gesummv_rows[T: (float32, int32), N](A: T[N, N], B: T[N, N], x: T[N], y: T[N]):
    """``y = alpha * A @ x + beta * B @ x``."""
    Ax: T[N] = 0
    Bx: T[N] = 0
    for i in range(N, name="products"):
        for j in allo.reduction(N):
            Ax[i] += A[i, j] * x[j]
            Bx[i] += B[i, j] * x[j]
    for i in range(N, name="sum"):
        y[i] = alpha * Ax[i] + beta * Bx[i]


__all__ = ["SIZES", "gesummv_rows", "inputs", "reference"]
