"""Convolutional layers as processes, float32, on images whose channels lie side by side (HWC).

A 3 × 3 convolution keeps three rows of its image with a border of zeros, in turn, and adds up a row of all
channels of its result: every element that it reads comes once, in the order in which it was written.
"""

from __future__ import annotations

import allo
from allo.ir.types import float32, int32


def convolved[H: int32, W: int32, C: int32, O: int32](
    X: float32[H, W, C], F: float32[O, C, 3, 3], s: float32[O], t: float32[O], relu: int32
) -> float32[H, W, O]:
    """A 3 × 3 convolution, a factor and an addend of each channel, and a ReLU where ``relu`` is 1."""
    Y: float32[H, W, O]
    rows: float32[3, W + 2, C] = 0.0
    total: float32[W, O]
    for x0, c0 in allo.grid(W, C):
        rows[0, x0 + 1, c0] = X[0, x0, c0]
    for y in range(H):
        for x1, c1 in allo.grid(W, C):
            below: float32 = 0.0
            if y + 1 < H:
                below = X[y + 1, x1, c1]
            rows[(y + 1) % 3, x1 + 1, c1] = below
        for x2, o2 in allo.grid(W, O):
            total[x2, o2] = 0.0
        for ky, kx, c in allo.grid(3, 3, C):
            for x in range(W):
                v: float32 = rows[(y + ky + 2) % 3, x + kx, c]
                for o in range(O):
                    total[x, o] += v * F[o, c, ky, kx]
        for x3, o3 in allo.grid(W, O):
            scaled: float32 = total[x3, o3] * s[o3] + t[o3]
            if relu == 1:
                scaled = max(scaled, 0.0)
            Y[y, x3, o3] = scaled
    return Y


def by_channel[H: int32, W: int32, C: int32](
    X: float32[H, W, C], F: float32[C, 3, 3]
) -> float32[H, W, C]:
    """A 3 × 3 convolution of each channel by itself."""
    Y: float32[H, W, C]
    rows: float32[3, W + 2, C] = 0.0
    total: float32[W, C]
    for x0, c0 in allo.grid(W, C):
        rows[0, x0 + 1, c0] = X[0, x0, c0]
    for y in range(H):
        for x1, c1 in allo.grid(W, C):
            below: float32 = 0.0
            if y + 1 < H:
                below = X[y + 1, x1, c1]
            rows[(y + 1) % 3, x1 + 1, c1] = below
        for x2, c2 in allo.grid(W, C):
            total[x2, c2] = 0.0
        for ky, kx in allo.grid(3, 3):
            for x in range(W):
                for o in range(C):
                    total[x, o] += rows[(y + ky + 2) % 3, x + kx, o] * F[o, ky, kx]
        for x3, c3 in allo.grid(W, C):
            Y[y, x3, c3] = total[x3, c3]
    return Y


def pointed[H: int32, W: int32, C: int32, O: int32](
    X: float32[H, W, C], F: float32[O, C], s: float32[O], t: float32[O]
) -> float32[H, W, O]:
    """A 1 × 1 convolution, a factor and an addend of each channel, and a ReLU."""
    Y: float32[H, W, O]
    row: float32[W, C]
    total: float32[W, O]
    for y in range(H):
        for x0, c0 in allo.grid(W, C):
            row[x0, c0] = X[y, x0, c0]
        for x1, o1 in allo.grid(W, O):
            total[x1, o1] = 0.0
        for c in range(C):
            for x in range(W):
                v: float32 = row[x, c]
                for o in range(O):
                    total[x, o] += v * F[o, c]
        for x2, o2 in allo.grid(W, O):
            Y[y, x2, o2] = max(total[x2, o2] * s[o2] + t[o2], 0.0)
    return Y


def split[H: int32, W: int32, C: int32](
    X: float32[H, W, C], A: float32[H, W, C], B: float32[H, W, C]
):
    """Images for two readers."""
    for y, x, c in allo.grid(H, W, C):
        v: float32 = X[y, x, c]
        A[y, x, c] = v
        B[y, x, c] = v


def joined[H: int32, W: int32, C: int32](
    X: float32[H, W, C], R: float32[H, W, C]
) -> float32[H, W, C]:
    """``max(X + R, 0)``."""
    Y: float32[H, W, C]
    for y, x, c in allo.grid(H, W, C):
        Y[y, x, c] = max(X[y, x, c] + R[y, x, c], 0.0)
    return Y
