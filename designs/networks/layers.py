"""Layers as plain templates, float32: products, convolutions, activations."""

from __future__ import annotations

import allo
from allo.ir.types import float32, int32


def product[M: int32, K: int32, N: int32](X: float32[M, K], W: float32[K, N]) -> float32[M, N]:
    """``X @ W``."""
    Y: float32[M, N] = 0.0
    for i, j in allo.grid(M, N):
        for k in allo.reduction(K):
            Y[i, j] += X[i, k] * W[k, j]
    return Y


def linear[M: int32, K: int32, N: int32](
    X: float32[M, K], W: float32[K, N], b: float32[N]
) -> float32[M, N]:
    """``X @ W + b``."""
    Y: float32[M, N]
    for i0, j0 in allo.grid(M, N, name="bias"):
        Y[i0, j0] = b[j0]
    for i, j in allo.grid(M, N, name="sum"):
        for k in allo.reduction(K):
            Y[i, j] += X[i, k] * W[k, j]
    return Y


def relu[M: int32, N: int32](X: float32[M, N]) -> float32[M, N]:
    """``max(X, 0)``."""
    Y: float32[M, N]
    for i, j in allo.grid(M, N):
        Y[i, j] = max(X[i, j], 0.0)
    return Y


def add[M: int32, N: int32](X: float32[M, N], R: float32[M, N]) -> float32[M, N]:
    """``X + R``."""
    Y: float32[M, N]
    for i, j in allo.grid(M, N):
        Y[i, j] = X[i, j] + R[i, j]
    return Y


def padded[C: int32, H: int32, W: int32](X: float32[C, H, W]) -> float32[C, H + 2, W + 2]:
    """Images with a border of one zero."""
    Y: float32[C, H + 2, W + 2] = 0.0
    for c, y, x in allo.grid(C, H, W):
        Y[c, y + 1, x + 1] = X[c, y, x]
    return Y


def convolution[O: int32, C: int32, H: int32, W: int32](
    X: float32[C, H + 2, W + 2], F: float32[O, C, 3, 3]
) -> float32[O, H, W]:
    """A 3 × 3 convolution of padded images."""
    Y: float32[O, H, W] = 0.0
    for o, y, x in allo.grid(O, H, W):
        for c, ky, kx in allo.reduction(C, 3, 3):
            Y[o, y, x] += F[o, c, ky, kx] * X[c, y + ky, x + kx]
    return Y


def depthwise[C: int32, H: int32, W: int32](
    X: float32[C, H + 2, W + 2], F: float32[C, 3, 3]
) -> float32[C, H, W]:
    """A 3 × 3 convolution of each channel by itself."""
    Y: float32[C, H, W] = 0.0
    for c, y, x in allo.grid(C, H, W):
        for ky, kx in allo.reduction(3, 3):
            Y[c, y, x] += F[c, ky, kx] * X[c, y + ky, x + kx]
    return Y


def pointwise[O: int32, C: int32, H: int32, W: int32](
    X: float32[C, H, W], F: float32[O, C]
) -> float32[O, H, W]:
    """A 1 × 1 convolution."""
    Y: float32[O, H, W] = 0.0
    for o, y, x in allo.grid(O, H, W):
        for c in allo.reduction(C):
            Y[o, y, x] += F[o, c] * X[c, y, x]
    return Y


def normalized[C: int32, H: int32, W: int32](
    X: float32[C, H, W], factor: float32[C], addend: float32[C]
) -> float32[C, H, W]:
    """A batch norm, as a factor and an addend of each channel."""
    Y: float32[C, H, W]
    for c, y, x in allo.grid(C, H, W):
        Y[c, y, x] = X[c, y, x] * factor[c] + addend[c]
    return Y


def rectified[C: int32, H: int32, W: int32](X: float32[C, H, W]) -> float32[C, H, W]:
    """``max(X, 0)`` of images."""
    Y: float32[C, H, W]
    for c, y, x in allo.grid(C, H, W):
        Y[c, y, x] = max(X[c, y, x], 0.0)
    return Y


def joined[C: int32, H: int32, W: int32](
    X: float32[C, H, W], R: float32[C, H, W]
) -> float32[C, H, W]:
    """``max(X + R, 0)`` of images."""
    Y: float32[C, H, W]
    for c, y, x in allo.grid(C, H, W):
        Y[c, y, x] = max(X[c, y, x] + R[c, y, x], 0.0)
    return Y
