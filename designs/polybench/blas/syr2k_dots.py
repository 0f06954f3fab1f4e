"""PolyBench syr2k, an element at a time: ``C = alpha * (A @ B.T + B @ A.T) + beta * C``, lower triangle."""

from __future__ import annotations

import allo
from allo.ir.types import float32, int32

from ..scale import alpha, beta
from .syr2k import SIZES, inputs, reference


def syr2k_dots[T: (float32, int32), M, N](A: T[N, M], B: T[N, M], C: T[N, N]):
    """An element is the sum of two dot products, which alpha weighs once, and its old value."""
    for i in range(N):
        for j in range(i + 1):
            dot: T = 0
            for k in allo.reduction(M):
                dot += A[j, k] * B[i, k] + B[j, k] * A[i, k]
            C[i, j] = alpha * dot + beta * C[i, j]


__all__ = ["SIZES", "inputs", "reference", "syr2k_dots"]
