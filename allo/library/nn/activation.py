"""Element-wise activations."""

from __future__ import annotations

import allo
from allo.ir.types import int32

from .._defaults import pipeline_innermost, scheduled_by


def relu2d[Ty, H: int32, W: int32](X: Ty[H, W]) -> Ty[H, W]:
    """``max(X, 0)`` of two dimensions."""
    Z: Ty[H, W]
    for h, w in allo.grid(H, W, name="relu"):
        x: Ty = X[h, w]
        Z[h, w] = x if x > 0 else 0
    return Z


def relu3d[Ty, N: int32, L: int32, C: int32](X: Ty[N, L, C]) -> Ty[N, L, C]:
    """``max(X, 0)`` of three dimensions."""
    Z: Ty[N, L, C]
    for n, l, c in allo.grid(N, L, C, name="relu"):
        x: Ty = X[n, l, c]
        Z[n, l, c] = x if x > 0 else 0
    return Z


def relu4d[Ty, N: int32, C: int32, H: int32, W: int32](X: Ty[N, C, H, W]) -> Ty[N, C, H, W]:
    """``max(X, 0)`` of four dimensions."""
    Z: Ty[N, C, H, W]
    for n, c, h, w in allo.grid(N, C, H, W, name="relu"):
        x: Ty = X[n, c, h, w]
        Z[n, c, h, w] = x if x > 0 else 0
    return Z


def gelu[Ty](x: Ty) -> Ty:
    """``0.5 · x · (1 + tanh(0.797885 · (x + 0.044715 · x³)))``: what ``allo.gelu`` is."""
    inner: Ty = 0.797885 * (x + 0.044715 * x * x * x)
    return 0.5 * x * (1.0 + allo.tanh(inner))


def GeLU[Ty, L: int32, D: int32](X: Ty[L, D]) -> Ty[L, D]:
    """:func:`gelu` of each element."""
    Z: Ty[L, D]
    for i, j in allo.grid(L, D, name="gelu"):
        Z[i, j] = allo.gelu(X[i, j])
    return Z


schedule_relu2d = schedule_relu3d = schedule_relu4d = schedule_gelu = pipeline_innermost
"""Pipeline the innermost loop."""

scheduled_by(relu2d, schedule_relu2d)
scheduled_by(relu3d, schedule_relu3d)
scheduled_by(relu4d, schedule_relu4d)
scheduled_by(GeLU, schedule_gelu)
