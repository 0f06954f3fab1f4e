"""MobileNet (version 1) for images of 3 × 32 × 32, int8: 27 convolutions with a ReLU each, 1,000 classes."""

from __future__ import annotations

import numpy as np

from allo.ir.types import int8, int32

from .network import Network
from .quantized import (
    bordered,
    by_channel,
    classified,
    convolved,
    int8_of,
    mixed,
    pooled,
    requantised,
    requantised_bordered,
    windows,
)


# fmt: off
def mobilenet(
    X: int8[3, 32, 32], F0: int8[32, 3, 3, 3],
    D1: int8[32, 3, 3], P1: int8[64, 32],
    D2: int8[64, 3, 3], P2: int8[128, 64],
    D3: int8[128, 3, 3], P3: int8[128, 128],
    D4: int8[128, 3, 3], P4: int8[256, 128],
    D5: int8[256, 3, 3], P5: int8[256, 256],
    D6: int8[256, 3, 3], P6: int8[512, 256],
    D7: int8[512, 3, 3], P7: int8[512, 512],
    D8: int8[512, 3, 3], P8: int8[512, 512],
    D9: int8[512, 3, 3], P9: int8[512, 512],
    D10: int8[512, 3, 3], P10: int8[512, 512],
    D11: int8[512, 3, 3], P11: int8[512, 512],
    D12: int8[512, 3, 3], P12: int8[1024, 512],
    D13: int8[1024, 3, 3], P13: int8[1024, 1024],
    W: int8[1000, 1024], b: int32[1000],
) -> int32[1000]:
    """A 3 × 3 convolution, 13 of each channel by itself with one of 1 × 1 behind it, a mean, a product."""
    A0 = requantised_bordered[32, 16, 16, 8](convolved[32, 3, 16, 16, 2](bordered[3, 32, 32](X), F0))
    B1 = requantised[32, 16, 16, 7](by_channel[32, 16, 16, 1](A0, D1))
    A1 = requantised_bordered[64, 16, 16, 8](mixed[64, 32, 16, 16](B1, P1))
    B2 = requantised[64, 8, 8, 7](by_channel[64, 8, 8, 2](A1, D2))
    A2 = requantised_bordered[128, 8, 8, 8](mixed[128, 64, 8, 8](B2, P2))
    B3 = requantised[128, 8, 8, 7](by_channel[128, 8, 8, 1](A2, D3))
    A3 = requantised_bordered[128, 8, 8, 9](mixed[128, 128, 8, 8](B3, P3))
    B4 = requantised[128, 4, 4, 7](by_channel[128, 4, 4, 2](A3, D4))
    A4 = requantised_bordered[256, 4, 4, 9](mixed[256, 128, 4, 4](B4, P4))
    B5 = requantised[256, 4, 4, 7](by_channel[256, 4, 4, 1](A4, D5))
    A5 = requantised_bordered[256, 4, 4, 9](mixed[256, 256, 4, 4](B5, P5))
    B6 = requantised[256, 2, 2, 7](by_channel[256, 2, 2, 2](A5, D6))
    A6 = requantised_bordered[512, 2, 2, 9](mixed[512, 256, 2, 2](B6, P6))
    B7 = requantised[512, 2, 2, 7](by_channel[512, 2, 2, 1](A6, D7))
    A7 = requantised_bordered[512, 2, 2, 10](mixed[512, 512, 2, 2](B7, P7))
    B8 = requantised[512, 2, 2, 7](by_channel[512, 2, 2, 1](A7, D8))
    A8 = requantised_bordered[512, 2, 2, 10](mixed[512, 512, 2, 2](B8, P8))
    B9 = requantised[512, 2, 2, 7](by_channel[512, 2, 2, 1](A8, D9))
    A9 = requantised_bordered[512, 2, 2, 10](mixed[512, 512, 2, 2](B9, P9))
    B10 = requantised[512, 2, 2, 7](by_channel[512, 2, 2, 1](A9, D10))
    A10 = requantised_bordered[512, 2, 2, 10](mixed[512, 512, 2, 2](B10, P10))
    B11 = requantised[512, 2, 2, 7](by_channel[512, 2, 2, 1](A10, D11))
    A11 = requantised_bordered[512, 2, 2, 10](mixed[512, 512, 2, 2](B11, P11))
    B12 = requantised[512, 1, 1, 7](by_channel[512, 1, 1, 2](A11, D12))
    A12 = requantised_bordered[1024, 1, 1, 10](mixed[1024, 512, 1, 1](B12, P12))
    B13 = requantised[1024, 1, 1, 7](by_channel[1024, 1, 1, 1](A12, D13))
    A13 = requantised[1024, 1, 1, 10](mixed[1024, 1024, 1, 1](B13, P13))
    return classified[1024, 1000](pooled[1024, 1, 1](A13), W, b)
# fmt: on


_STRIDES = (1, 2, 1, 2, 1, 2, 1, 1, 1, 1, 1, 2, 1)
"""Of the 13 convolutions of each channel by itself."""
_SHIFTS = (8, 8, 8, 9, 9, 9, 9, 10, 10, 10, 10, 10, 10, 10)
"""Of the first convolution and the 1 × 1 ones; the others shift by 7."""


def _reference(X: np.ndarray, first: np.ndarray, *weights: np.ndarray) -> np.ndarray:
    X = int8_of(windows(X, 2), first, "cyxk,ock->oyx", _SHIFTS[0])
    for number, (stride, shift) in enumerate(zip(_STRIDES, _SHIFTS[1:], strict=True)):
        by_itself, mixing = weights[2 * number : 2 * number + 2]
        X = int8_of(windows(X, stride), by_itself, "cyxk,ck->cyx", 7)
        X = int8_of(X, mixing, "cyx,oc->oyx", shift)
    mean = X.sum(axis=(1, 2), dtype=np.int32) // (X.shape[1] * X.shape[2])
    found: np.ndarray = (weights[-2].astype(np.int32) @ mean + weights[-1]).astype(np.int32)
    return found


_CHANNELS = ((32, 64), (64, 128), (128, 128), (128, 256), (256, 256), (256, 512),
    *[(512, 512)] * 5, (512, 1024), (1024, 1024))  # fmt: skip
_PIXELS = (256, 256, 64, 64, 16, 16, *[4] * 6, 1)
"""Of the input of each block."""


def _work() -> int:
    """Multiplications of all convolutions and of the product."""
    found = 256 * 27 * 32 + 1000 * 1024
    for (before, after), pixels, stride in zip(_CHANNELS, _PIXELS, _STRIDES, strict=True):
        found += pixels // stride**2 * before * (9 + after)
    return found


MOBILENET = Network(
    mobilenet,
    (
        (3, 32, 32),
        (32, 3, 3, 3),
        *(shape for before, after in _CHANNELS for shape in ((before, 3, 3), (after, before))),
        (1000, 1024),
        (1000,),
    ),
    _reference,
    _work(),
    "int8",
)
