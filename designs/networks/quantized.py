"""Layers of quantised images as plain templates: int8 elements and weights, int32 sums.

A layer ends in a *requantisation*: ReLU, then a shift to the right and at most 127, which makes int8 of its
sums again. Layers in front of a 3 × 3 convolution write their images with a border of one zero.
"""

from __future__ import annotations

import numpy as np

import allo
from allo.ir.types import int8, int32


def bordered[C: int32, H: int32, W: int32](X: int8[C, H, W]) -> int8[C, H + 2, W + 2]:
    """Images with a border of one zero."""
    Y: int8[C, H + 2, W + 2] = 0
    for c, y, x in allo.grid(C, H, W):
        Y[c, y + 1, x + 1] = X[c, y, x]
    return Y


def convolved[O: int32, C: int32, H: int32, W: int32, stride: int32](
    X: int8[C, H * stride + 2, W * stride + 2], F: int8[O, C, 3, 3]
) -> int32[O, H, W]:
    """Sums of a 3 × 3 convolution of bordered images."""
    S: int32[O, H, W] = 0
    for o, y, x in allo.grid(O, H, W):
        for c, ky, kx in allo.reduction(C, 3, 3):
            S[o, y, x] += F[o, c, ky, kx] * X[c, y * stride + ky, x * stride + kx]
    return S


def by_channel[C: int32, H: int32, W: int32, stride: int32](
    X: int8[C, H * stride + 2, W * stride + 2], F: int8[C, 3, 3]
) -> int32[C, H, W]:
    """Sums of a 3 × 3 convolution of each channel by itself, of bordered images."""
    S: int32[C, H, W] = 0
    for c, y, x in allo.grid(C, H, W):
        for ky, kx in allo.reduction(3, 3):
            S[c, y, x] += F[c, ky, kx] * X[c, y * stride + ky, x * stride + kx]
    return S


def mixed[O: int32, C: int32, H: int32, W: int32](
    X: int8[C, H, W], F: int8[O, C]
) -> int32[O, H, W]:
    """Sums of a 1 × 1 convolution."""
    S: int32[O, H, W] = 0
    for o, y, x in allo.grid(O, H, W):
        for c in allo.reduction(C):
            S[o, y, x] += F[o, c] * X[c, y, x]
    return S


def requantised[C: int32, H: int32, W: int32, shift: int32](S: int32[C, H, W]) -> int8[C, H, W]:
    """ReLU of sums, as int8 again."""
    Y: int8[C, H, W]
    for c, y, x in allo.grid(C, H, W):
        Y[c, y, x] = min(max(S[c, y, x] >> shift, 0), 127)
    return Y


def requantised_bordered[C: int32, H: int32, W: int32, shift: int32](
    S: int32[C, H, W],
) -> int8[C, H + 2, W + 2]:
    """ReLU of sums, as int8 again, with a border of one zero."""
    Y: int8[C, H + 2, W + 2] = 0
    for c, y, x in allo.grid(C, H, W):
        Y[c, y + 1, x + 1] = min(max(S[c, y, x] >> shift, 0), 127)
    return Y


def biased_bordered[C: int32, H: int32, W: int32, shift: int32](
    S: int32[C, H, W], b: int32[C]
) -> int8[C, H + 2, W + 2]:
    """ReLU of sums and a bias for each channel, as int8 again, with a border of one zero."""
    Y: int8[C, H + 2, W + 2] = 0
    for c, y, x in allo.grid(C, H, W):
        Y[c, y + 1, x + 1] = min(max((S[c, y, x] + b[c]) >> shift, 0), 127)
    return Y


def halved[O: int32, C: int32, H: int32, W: int32](
    X: int8[C, H * 2 + 2, W * 2 + 2], F: int8[O, C]
) -> int32[O, H, W]:
    """Sums of a 1 × 1 convolution of every other row and column of bordered images."""
    S: int32[O, H, W] = 0
    for o, y, x in allo.grid(O, H, W):
        for c in allo.reduction(C):
            S[o, y, x] += F[o, c] * X[c, 2 * y + 1, 2 * x + 1]
    return S


def joined_bordered[C: int32, H: int32, W: int32, shift: int32](
    S: int32[C, H, W], b: int32[C], X: int8[C, H + 2, W + 2]
) -> int8[C, H + 2, W + 2]:
    """ReLU of what sums make of int8 and the block's bordered input ``X``, as int8 with a border."""
    Y: int8[C, H + 2, W + 2] = 0
    for c, y, x in allo.grid(C, H, W):
        Y[c, y + 1, x + 1] = min(max(((S[c, y, x] + b[c]) >> shift) + X[c, y + 1, x + 1], 0), 127)
    return Y


def joined[C: int32, H: int32, W: int32, shift: int32](
    S: int32[C, H, W], b: int32[C], X: int8[C, H + 2, W + 2]
) -> int8[C, H, W]:
    """The same without a border, for the last block."""
    Y: int8[C, H, W]
    for c, y, x in allo.grid(C, H, W):
        Y[c, y, x] = min(max(((S[c, y, x] + b[c]) >> shift) + X[c, y + 1, x + 1], 0), 127)
    return Y


def joined_halved[C: int32, H: int32, W: int32, shift: int32, shift_of_input: int32](
    S: int32[C, H, W], b: int32[C], T: int32[C, H, W], d: int32[C]
) -> int8[C, H + 2, W + 2]:
    """The same where the block's input is of another size: sums ``T`` with a bias are made of it."""
    Y: int8[C, H + 2, W + 2] = 0
    for c, y, x in allo.grid(C, H, W):
        Y[c, y + 1, x + 1] = min(
            max(((S[c, y, x] + b[c]) >> shift) + ((T[c, y, x] + d[c]) >> shift_of_input), 0), 127
        )
    return Y


def pooled[C: int32, H: int32, W: int32](X: int8[C, H, W]) -> int8[C]:
    """The mean of each channel, rounded down."""
    S: int32[C] = 0
    Y: int8[C]
    for c in range(C):
        for y, x in allo.reduction(H, W):
            S[c] += X[c, y, x]
    for c1 in range(C):
        Y[c1] = S[c1] // (H * W)
    return Y


def classified[C: int32, N: int32](X: int8[C], W: int8[N, C], b: int32[N]) -> int32[N]:
    """``W @ X + b``."""
    Y: int32[N]
    for n0 in range(N):
        Y[n0] = b[n0]
    for n in range(N):
        for c in allo.reduction(C):
            Y[n] += W[n, c] * X[c]
    return Y


def windows(X: np.ndarray, stride: int, size: int = 3) -> np.ndarray:
    """In NumPy: shifted images of each channel with a border of zeros, (channels, height, width, size²)."""
    border = size // 2
    wide = np.pad(X, ((0, 0), (border, border), (border, border)))
    rows, columns = (-(-extent // stride) for extent in X.shape[1:])
    shifted = [
        wide[:, y : y + stride * rows : stride, x : x + stride * columns : stride][
            :, :rows, :columns
        ]
        for y in range(size)
        for x in range(size)
    ]
    return np.stack(shifted, axis=-1)


def int8_of(X: np.ndarray, F: np.ndarray, subscripts: str, shift: int) -> np.ndarray:
    """In NumPy: sums of products by ``einsum``'s subscripts, requantised; windows of ``F`` are flat."""
    flat = F.reshape(*F.shape[:-2], -1) if F.ndim > 2 else F
    sums = np.einsum(subscripts, X.astype(np.int64), flat.astype(np.int64), optimize=True)
    found: np.ndarray = np.clip(sums >> shift, 0, 127).astype(np.int8)
    return found
