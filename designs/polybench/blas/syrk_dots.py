"""PolyBench syrk, an element at a time: ``C = alpha * A @ A.T + beta * C`` on the lower triangle."""

from __future__ import annotations

import allo
from allo.ir.types import float32, int32

from ..scale import alpha, beta
from .syrk import SIZES, inputs, reference


def syrk_dots[T: (float32, int32), M, N](A: T[N, M], C: T[N, N]):
    """An element is the dot product of two rows of A, which alpha weighs once, and its old value."""
    for i in range(N):
        for j in range(i + 1):
            dot: T = 0
            for k in allo.reduction(M):
                dot += A[i, k] * A[j, k]
            C[i, j] = alpha * dot + beta * C[i, j]


__all__ = ["SIZES", "inputs", "reference", "syrk_dots"]
