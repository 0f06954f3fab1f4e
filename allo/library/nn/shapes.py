"""Residuals, modulation, and kernels that only move data."""

from __future__ import annotations

import allo
from allo.ir.types import int32

from .._defaults import pipeline_innermost, scheduled_by


def residual_add[Ty, L: int32, D: int32](X1: Ty[L, D], X2: Ty[L, D]) -> Ty[L, D]:
    """``X1 + X2``."""
    Z: Ty[L, D]
    for i, j in allo.grid(L, D, name="residual"):
        Z[i, j] = X1[i, j] + X2[i, j]
    return Z


def modulate_fused[Ty, L: int32, D: int32](X: Ty[L, D], scale: Ty[D], shift: Ty[D]) -> Ty[L, D]:
    """``x · (1 + scale) + shift`` of each column."""
    Z: Ty[L, D]
    for i, j in allo.grid(L, D, name="modulate"):
        Z[i, j] = X[i, j] * (1.0 + scale[j]) + shift[j]
    return Z


def repeat_batch3d[Ty, B: int32, L: int32, C: int32, N: int32](
    X: Ty[B, L, C],
) -> Ty[N * B, L, C]:
    """``N`` copies of the batch, one after another."""
    Z: Ty[N * B, L, C]
    for n, b, l, c in allo.grid(N, B, L, C, name="repeat"):
        Z[n * B + b, l, c] = X[b, l, c]
    return Z


def concat[Ty, B: int32, N1: int32, N2: int32, C: int32](
    X1: Ty[B, N1, C], X2: Ty[B, N2, C]
) -> Ty[B, N1 + N2, C]:
    """Join along the middle axis."""
    Z: Ty[B, N1 + N2, C]
    for b, n, c in allo.grid(B, N1, C, name="first"):
        Z[b, n, c] = X1[b, n, c]
    for b, n, c in allo.grid(B, N2, C, name="second"):
        Z[b, N1 + n, c] = X2[b, n, c]
    return Z


schedule_modulate_fused = schedule_repeat_batch3d = schedule_concat = pipeline_innermost
"""Pipeline the innermost loops."""

scheduled_by(residual_add, pipeline_innermost)
scheduled_by(modulate_fused, schedule_modulate_fused)
scheduled_by(repeat_batch3d, schedule_repeat_batch3d)
scheduled_by(concat, schedule_concat)
