"""VGG-16 for images of 3 × 32 × 32, int8: 13 convolutions, the last of a group with stride 2, 10 classes."""

from __future__ import annotations

import numpy as np

from allo.ir.types import int8, int32

from .network import Network
from .quantized import (
    bordered,
    classified,
    convolved,
    int8_of,
    pooled,
    requantised,
    requantised_bordered,
    windows,
)


def vgg(
    X: int8[3, 32, 32], F1: int8[64, 3, 3, 3], F2: int8[64, 64, 3, 3],
    F3: int8[128, 64, 3, 3], F4: int8[128, 128, 3, 3],
    F5: int8[256, 128, 3, 3], F6: int8[256, 256, 3, 3], F7: int8[256, 256, 3, 3],
    F8: int8[512, 256, 3, 3], F9: int8[512, 512, 3, 3], F10: int8[512, 512, 3, 3],
    F11: int8[512, 512, 3, 3], F12: int8[512, 512, 3, 3], F13: int8[512, 512, 3, 3],
    W: int8[10, 512], b: int32[10],
) -> int32[10]:  # fmt: skip
    """Convolutions with a ReLU each, and a product."""
    A1 = requantised_bordered[64, 32, 32, 9](
        convolved[64, 3, 32, 32, 1](bordered[3, 32, 32](X), F1)
    )
    A2 = requantised_bordered[64, 16, 16, 10](convolved[64, 64, 16, 16, 2](A1, F2))
    A3 = requantised_bordered[128, 16, 16, 10](convolved[128, 64, 16, 16, 1](A2, F3))
    A4 = requantised_bordered[128, 8, 8, 10](convolved[128, 128, 8, 8, 2](A3, F4))
    A5 = requantised_bordered[256, 8, 8, 10](convolved[256, 128, 8, 8, 1](A4, F5))
    A6 = requantised_bordered[256, 8, 8, 11](convolved[256, 256, 8, 8, 1](A5, F6))
    A7 = requantised_bordered[256, 4, 4, 11](convolved[256, 256, 4, 4, 2](A6, F7))
    A8 = requantised_bordered[512, 4, 4, 11](convolved[512, 256, 4, 4, 1](A7, F8))
    A9 = requantised_bordered[512, 4, 4, 11](convolved[512, 512, 4, 4, 1](A8, F9))
    A10 = requantised_bordered[512, 2, 2, 11](convolved[512, 512, 2, 2, 2](A9, F10))
    A11 = requantised_bordered[512, 2, 2, 11](convolved[512, 512, 2, 2, 1](A10, F11))
    A12 = requantised_bordered[512, 2, 2, 11](convolved[512, 512, 2, 2, 1](A11, F12))
    A13 = requantised[512, 1, 1, 11](convolved[512, 512, 1, 1, 2](A12, F13))
    return classified[512, 10](pooled[512, 1, 1](A13), W, b)


_CHANNELS = (3, 64, 64, 128, 128, 256, 256, 256, *[512] * 6)
_STRIDES = (1, 2, 1, 2, 1, 1, 2, 1, 1, 2, 1, 1, 2)
_SHIFTS = (9, 10, 10, 10, 10, 11, 11, 11, 11, 11, 11, 11, 11)
"""Of each convolution, behind its sums."""


def _reference(X: np.ndarray, *weights: np.ndarray) -> np.ndarray:
    for stride, shift, filters in zip(_STRIDES, _SHIFTS, weights[:-2], strict=True):
        X = int8_of(windows(X, stride), filters, "cyxk,ock->oyx", shift)
    mean = X.sum(axis=(1, 2), dtype=np.int32) // (X.shape[1] * X.shape[2])
    found: np.ndarray = (weights[-2].astype(np.int32) @ mean + weights[-1]).astype(np.int32)
    return found


def _work() -> int:
    """Multiplications of all convolutions and of the product."""
    found, rows = 512 * 10, 32
    for before, after, stride in zip(_CHANNELS, _CHANNELS[1:], _STRIDES, strict=False):
        rows //= stride
        found += rows * rows * 9 * before * after
    return found


VGG = Network(
    vgg,
    (
        (3, 32, 32),
        *((after, before, 3, 3) for before, after in zip(_CHANNELS, _CHANNELS[1:], strict=False)),
        (10, 512),
        (10,),
    ),
    _reference,
    _work(),
    "int8",
)
