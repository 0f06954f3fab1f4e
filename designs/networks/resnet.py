"""ResNet-18 for images of 3 × 32 × 32, int8: 20 convolutions, of which three make shortcuts, 10 classes.

The batch norms of inference are part of the convolutions: their factors of the int8 weights, what they add of
an int32 bias for each channel.
"""

from __future__ import annotations

import numpy as np

from allo.ir.types import int8, int32

from .network import Network
from .quantized import (
    biased_bordered,
    bordered,
    classified,
    convolved,
    halved,
    joined,
    joined_bordered,
    joined_halved,
    pooled,
    windows,
)


# fmt: off
def resnet(
    X: int8[3, 32, 32], F0: int8[64, 3, 3, 3], b0: int32[64],
    F1: int8[64, 64, 3, 3], b1: int32[64], F2: int8[64, 64, 3, 3], b2: int32[64],
    F3: int8[64, 64, 3, 3], b3: int32[64], F4: int8[64, 64, 3, 3], b4: int32[64],
    F5: int8[128, 64, 3, 3], b5: int32[128], F6: int8[128, 128, 3, 3], b6: int32[128],
    P1: int8[128, 64], p1: int32[128],
    F7: int8[128, 128, 3, 3], b7: int32[128], F8: int8[128, 128, 3, 3], b8: int32[128],
    F9: int8[256, 128, 3, 3], b9: int32[256], F10: int8[256, 256, 3, 3], b10: int32[256],
    P2: int8[256, 128], p2: int32[256],
    F11: int8[256, 256, 3, 3], b11: int32[256], F12: int8[256, 256, 3, 3], b12: int32[256],
    F13: int8[512, 256, 3, 3], b13: int32[512], F14: int8[512, 512, 3, 3], b14: int32[512],
    P3: int8[512, 256], p3: int32[512],
    F15: int8[512, 512, 3, 3], b15: int32[512], F16: int8[512, 512, 3, 3], b16: int32[512],
    W: int8[10, 512], b: int32[10],
) -> int32[10]:
    """A 3 × 3 convolution, four groups of two residual blocks, a mean, a product."""
    A0 = biased_bordered[64, 32, 32, 8](convolved[64, 3, 32, 32, 1](bordered[3, 32, 32](X), F0), b0)
    H1 = biased_bordered[64, 32, 32, 11](convolved[64, 64, 32, 32, 1](A0, F1), b1)
    A1 = joined_bordered[64, 32, 32, 11](convolved[64, 64, 32, 32, 1](H1, F2), b2, A0)
    H2 = biased_bordered[64, 32, 32, 11](convolved[64, 64, 32, 32, 1](A1, F3), b3)
    A2 = joined_bordered[64, 32, 32, 11](convolved[64, 64, 32, 32, 1](H2, F4), b4, A1)
    H3 = biased_bordered[128, 16, 16, 11](convolved[128, 64, 16, 16, 2](A2, F5), b5)
    S3 = halved[128, 64, 16, 16](A2, P1)
    A3 = joined_halved[128, 16, 16, 11, 10](convolved[128, 128, 16, 16, 1](H3, F6), b6, S3, p1)
    H4 = biased_bordered[128, 16, 16, 11](convolved[128, 128, 16, 16, 1](A3, F7), b7)
    A4 = joined_bordered[128, 16, 16, 11](convolved[128, 128, 16, 16, 1](H4, F8), b8, A3)
    H5 = biased_bordered[256, 8, 8, 11](convolved[256, 128, 8, 8, 2](A4, F9), b9)
    S5 = halved[256, 128, 8, 8](A4, P2)
    A5 = joined_halved[256, 8, 8, 11, 10](convolved[256, 256, 8, 8, 1](H5, F10), b10, S5, p2)
    H6 = biased_bordered[256, 8, 8, 11](convolved[256, 256, 8, 8, 1](A5, F11), b11)
    A6 = joined_bordered[256, 8, 8, 11](convolved[256, 256, 8, 8, 1](H6, F12), b12, A5)
    H7 = biased_bordered[512, 4, 4, 11](convolved[512, 256, 4, 4, 2](A6, F13), b13)
    S7 = halved[512, 256, 4, 4](A6, P3)
    A7 = joined_halved[512, 4, 4, 11, 10](convolved[512, 512, 4, 4, 1](H7, F14), b14, S7, p3)
    H8 = biased_bordered[512, 4, 4, 11](convolved[512, 512, 4, 4, 1](A7, F15), b15)
    A8 = joined[512, 4, 4, 11](convolved[512, 512, 4, 4, 1](H8, F16), b16, A7)
    return classified[512, 10](pooled[512, 4, 4](A8), W, b)
# fmt: on


_BLOCKS = (
    (64, 64, 11, 11, None), (64, 64, 11, 11, None),
    (64, 128, 11, 11, 10), (128, 128, 11, 11, None),
    (128, 256, 11, 11, 10), (256, 256, 11, 11, None),
    (256, 512, 11, 11, 10), (512, 512, 11, 11, None),
)  # fmt: skip
"""Of each block: channels of its input and its output, shifts behind its convolutions, and behind that of the
shortcut where it has one and the stride is 2."""


def _sums(X: np.ndarray, F: np.ndarray, bias: np.ndarray, stride: int) -> np.ndarray:
    """Sums of a 3 × 3 convolution, or of a 1 × 1 one where the filters have two dimensions, with a bias."""
    if F.ndim == 2:
        subscripts, flat, seen = "cyx,oc->oyx", F, X[:, ::stride, ::stride]
    else:
        subscripts, flat = "cyxk,ock->oyx", F.reshape(*F.shape[:2], 9)
        seen = windows(X, stride)
    sums = np.einsum(subscripts, seen.astype(np.float64), flat.astype(np.float64), optimize=True)
    found: np.ndarray = sums.astype(np.int64) + bias[:, None, None]
    return found


def _reference(X: np.ndarray, *weights: np.ndarray) -> np.ndarray:
    given = iter(weights)
    X = np.clip(_sums(X, next(given), next(given), 1) >> 8, 0, 127)
    for _, _, first, second, other in _BLOCKS:
        stride = 1 if other is None else 2
        hidden = np.clip(_sums(X, next(given), next(given), stride) >> first, 0, 127)
        block = _sums(hidden, next(given), next(given), 1) >> second
        if other is not None:
            X = _sums(X, next(given), next(given), stride) >> other
        X = np.clip(block + X, 0, 127)
    mean = X.sum(axis=(1, 2)) // (X.shape[1] * X.shape[2])
    found: np.ndarray = (next(given).astype(np.int64) @ mean + next(given)).astype(np.int32)
    return found


def _shapes() -> tuple[tuple[int, ...], ...]:
    found: list[tuple[int, ...]] = [(3, 32, 32), (64, 3, 3, 3), (64,)]
    for before, after, _, _, other in _BLOCKS:
        found += [(after, before, 3, 3), (after,), (after, after, 3, 3), (after,)]
        found += [] if other is None else [(after, before), (after,)]
    return (*found, (10, 512), (10,))


def _work() -> int:
    """Multiplications of all convolutions and of the product."""
    found, pixels = 32 * 32 * 27 * 64 + 512 * 10, 32 * 32
    for before, after, _, _, other in _BLOCKS:
        pixels //= 1 if other is None else 4
        found += pixels * after * (9 * (before + after) + (0 if other is None else before))
    return found


RESNET = Network(resnet, _shapes(), _reference, _work(), "int8")
