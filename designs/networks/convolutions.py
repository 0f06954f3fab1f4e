"""Blocks of convolutional networks: the residual one of ResNet, the depthwise separable one of MobileNet."""

from __future__ import annotations

import numpy as np

from allo.ir.types import float32

from .layers import convolution, depthwise, joined, normalized, padded, pointwise, rectified
from .network import Network


def residual_block(
    X: float32[16, 56, 56],
    F1: float32[16, 16, 3, 3], s1: float32[16], t1: float32[16],
    F2: float32[16, 16, 3, 3], s2: float32[16], t2: float32[16],
) -> float32[16, 56, 56]:  # fmt: skip
    """Two 3 × 3 convolutions of 16 channels, each with a batch norm, and the sum with the input."""
    A = normalized[16, 56, 56](convolution[16, 16, 56, 56](padded[16, 56, 56](X), F1), s1, t1)
    R = rectified[16, 56, 56](A)
    B = normalized[16, 56, 56](convolution[16, 16, 56, 56](padded[16, 56, 56](R), F2), s2, t2)
    return joined[16, 56, 56](B, X)


def separable_block(
    X: float32[8, 112, 112],
    F: float32[8, 3, 3], P: float32[8, 8], s: float32[8], t: float32[8],
) -> float32[8, 112, 112]:  # fmt: skip
    """A 3 × 3 convolution of each of 8 channels, then a 1 × 1 convolution, batch norm and ReLU."""
    A = pointwise[8, 8, 112, 112](depthwise[8, 112, 112](padded[8, 112, 112](X), F), P)
    return rectified[8, 112, 112](normalized[8, 112, 112](A, s, t))


def _windows(X: np.ndarray) -> np.ndarray:
    """The nine shifted images of each channel: (channels, height, width, 9)."""
    padded_images = np.pad(X, ((0, 0), (1, 1), (1, 1)))
    shape = X.shape[1:]
    shifted = [
        padded_images[:, y : y + shape[0], x : x + shape[1]] for y in range(3) for x in range(3)
    ]
    return np.stack(shifted, axis=-1)


def _convolved(X: np.ndarray, F: np.ndarray) -> np.ndarray:
    found: np.ndarray = np.einsum(
        "cyxk,ock->oyx", _windows(X), F.reshape(*F.shape[:2], 9), optimize=True
    )
    return found


def _scaled(X: np.ndarray, factor: np.ndarray, addend: np.ndarray) -> np.ndarray:
    found: np.ndarray = X * factor[:, None, None] + addend[:, None, None]
    return found


def _residual(X: np.ndarray, *weights: np.ndarray) -> np.ndarray:
    F1, s1, t1, F2, s2, t2 = weights
    hidden = np.maximum(_scaled(_convolved(X, F1), s1, t1), 0)
    found: np.ndarray = np.maximum(_scaled(_convolved(hidden, F2), s2, t2) + X, 0)
    return found


def _separable(
    X: np.ndarray, F: np.ndarray, P: np.ndarray, s: np.ndarray, t: np.ndarray
) -> np.ndarray:
    by_channel = np.einsum("cyxk,ck->cyx", _windows(X), F.reshape(8, 9))
    found: np.ndarray = np.maximum(_scaled(np.einsum("cyx,oc->oyx", by_channel, P), s, t), 0)
    return found


RESIDUAL_BLOCK = Network(
    residual_block,
    ((16, 56, 56), (16, 16, 3, 3), (16,), (16,), (16, 16, 3, 3), (16,), (16,)),
    _residual,
    2 * 16 * 16 * 9 * 56 * 56,
)
SEPARABLE_BLOCK = Network(
    separable_block,
    ((8, 112, 112), (8, 3, 3), (8, 8), (8,), (8,)),
    _separable,
    8 * (9 + 8) * 112 * 112,
)
