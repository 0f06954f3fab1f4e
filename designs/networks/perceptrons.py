"""Networks of linear layers: an autoencoder, a residual one, the feed-forward part of a transformer."""

from __future__ import annotations

import numpy as np

from allo.ir.types import float32

from .layers import add, linear, relu
from .network import Network


def autoencoder(
    X: float32[32, 784],
    W1: float32[784, 256], b1: float32[256], W2: float32[256, 128], b2: float32[128],
    W3: float32[128, 64], b3: float32[64], W4: float32[64, 128], b4: float32[128],
    W5: float32[128, 256], b5: float32[256], W6: float32[256, 784], b6: float32[784],
) -> float32[32, 784]:  # fmt: skip
    """784, 256, 128, 64, 128, 256 and 784 neurons, for a batch of 32."""
    H1 = relu[32, 256](linear[32, 784, 256](X, W1, b1))
    H2 = relu[32, 128](linear[32, 256, 128](H1, W2, b2))
    H3 = relu[32, 64](linear[32, 128, 64](H2, W3, b3))
    H4 = relu[32, 128](linear[32, 64, 128](H3, W4, b4))
    H5 = relu[32, 256](linear[32, 128, 256](H4, W5, b5))
    return linear[32, 256, 784](H5, W6, b6)


def residual_mlp(
    X: float32[8, 1024],
    W1: float32[1024, 512], b1: float32[512], W2: float32[512, 512], b2: float32[512],
    W3: float32[512, 256], b3: float32[256], W4: float32[256, 10], b4: float32[10],
) -> float32[8, 10]:  # fmt: skip
    """1024, 512, 512, 256 and 10 neurons, the second layer around a residual sum, for a batch of 8."""
    R = linear[8, 1024, 512](X, W1, b1)
    H1 = relu[8, 512](R)
    H2 = linear[8, 512, 512](H1, W2, b2)
    H3 = relu[8, 512](add[8, 512](H2, R))
    H4 = linear[8, 512, 256](H3, W3, b3)
    return linear[8, 256, 10](H4, W4, b4)


def feed_forward(
    X: float32[512, 128],
    W1: float32[128, 256], b1: float32[256], W2: float32[256, 128], b2: float32[128],
) -> float32[512, 128]:  # fmt: skip
    """128 to 256 to 128 neurons, for 512 tokens."""
    H = relu[512, 256](linear[512, 128, 256](X, W1, b1))
    return linear[512, 256, 128](H, W2, b2)


def _chain(X: np.ndarray, *weights: np.ndarray) -> np.ndarray:
    """Linear layers with ReLU between them."""
    for place in range(0, len(weights), 2):
        X = (X if place == 0 else np.maximum(X, 0)) @ weights[place] + weights[place + 1]
    return X


def _residual(X: np.ndarray, *weights: np.ndarray) -> np.ndarray:
    W1, b1, W2, b2, W3, b3, W4, b4 = weights
    residual = X @ W1 + b1
    hidden = np.maximum(np.maximum(residual, 0) @ W2 + b2 + residual, 0)
    found: np.ndarray = (hidden @ W3 + b3) @ W4 + b4
    return found


def _shapes(batch: int, *neurons: int) -> tuple[tuple[int, ...], ...]:
    shapes: list[tuple[int, ...]] = [(batch, neurons[0])]
    for before, after in zip(neurons, neurons[1:], strict=False):
        shapes += [(before, after), (after,)]
    return tuple(shapes)


def _work(batch: int, *neurons: int) -> int:
    return batch * sum(a * b for a, b in zip(neurons, neurons[1:], strict=False))


_AUTO, _MLP, _FORWARD = (
    (32, 784, 256, 128, 64, 128, 256, 784),
    (8, 1024, 512, 512, 256, 10),
    (512, 128, 256, 128),
)
AUTOENCODER = Network(autoencoder, _shapes(*_AUTO), _chain, _work(*_AUTO))
RESIDUAL_MLP = Network(residual_mlp, _shapes(*_MLP), _residual, _work(*_MLP))
FEED_FORWARD = Network(feed_forward, _shapes(*_FORWARD), _chain, _work(*_FORWARD))
