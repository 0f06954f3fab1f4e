"""Self-attention of several heads, as a transformer has it, float32."""

from __future__ import annotations

import numpy as np

import allo
from allo.ir.types import float32, int32

from .layers import linear
from .network import Network


def heads_of[L: int32, H: int32, D: int32](X: float32[L, H * D]) -> float32[H, L, D]:
    """Columns of each head by themselves."""
    Y: float32[H, L, D]
    for h, i, d in allo.grid(H, L, D):
        Y[h, i, d] = X[i, h * D + d]
    return Y


def scores[H: int32, L: int32, D: int32](
    Q: float32[H, L, D], K: float32[H, L, D], scale: float32
) -> float32[H, L, L]:
    """``Q @ Kᵀ * scale`` of each head."""
    S: float32[H, L, L] = 0.0
    T: float32[H, L, L]
    for h, i, j in allo.grid(H, L, L):
        for d in allo.reduction(D):
            S[h, i, j] += Q[h, i, d] * K[h, j, d]
    for h1, i1, j1 in allo.grid(H, L, L):
        T[h1, i1, j1] = S[h1, i1, j1] * scale
    return T


def softmax[H: int32, L: int32](S: float32[H, L, L]) -> float32[H, L, L]:
    """Softmax of each row of each head."""
    E: float32[H, L, L]
    P: float32[H, L, L]
    highest: float32[H, L]
    total: float32[H, L] = 0.0
    inverse: float32[H, L]
    for h0, i0 in allo.grid(H, L, name="first"):
        highest[h0, i0] = S[h0, i0, 0]
    for h1, i1, j1 in allo.grid(H, L, L, name="highest"):
        highest[h1, i1] = max(highest[h1, i1], S[h1, i1, j1])
    for h2, i2, j2 in allo.grid(H, L, L, name="exponentials"):
        E[h2, i2, j2] = allo.exp(S[h2, i2, j2] - highest[h2, i2])
    for h3, i3, j3 in allo.grid(H, L, L, name="total"):
        total[h3, i3] += E[h3, i3, j3]
    for h4, i4 in allo.grid(H, L, name="inverse"):
        inverse[h4, i4] = 1.0 / total[h4, i4]
    for h5, i5, j5 in allo.grid(H, L, L, name="quotients"):
        P[h5, i5, j5] = E[h5, i5, j5] * inverse[h5, i5]
    return P


def mixed[H: int32, L: int32, D: int32](
    P: float32[H, L, L], V: float32[H, L, D]
) -> float32[L, H * D]:
    """``P @ V`` of each head, side by side."""
    Z: float32[L, H * D] = 0.0
    for h, i, d in allo.grid(H, L, D):
        for j in allo.reduction(L):
            Z[i, h * D + d] += P[h, i, j] * V[h, j, d]
    return Z


def attention(
    X: float32[64, 128],
    Wq: float32[128, 128], bq: float32[128], Wk: float32[128, 128], bk: float32[128],
    Wv: float32[128, 128], bv: float32[128], Wo: float32[128, 128], bo: float32[128],
) -> float32[64, 128]:  # fmt: skip
    """Self-attention of 64 tokens of width 128, with 8 heads."""
    Q = heads_of[64, 8, 16](linear[64, 128, 128](X, Wq, bq))
    K = heads_of[64, 8, 16](linear[64, 128, 128](X, Wk, bk))
    V = heads_of[64, 8, 16](linear[64, 128, 128](X, Wv, bv))
    scale: float32 = 0.25
    P = softmax[8, 64](scores[8, 64, 16](Q, K, scale))
    return linear[64, 128, 128](mixed[8, 64, 16](P, V), Wo, bo)


def _reference(X: np.ndarray, *weights: np.ndarray) -> np.ndarray:
    Wq, bq, Wk, bk, Wv, bv, Wo, bo = weights
    Q, K, V = (
        (X @ W + b).reshape(64, 8, 16).transpose(1, 0, 2) for W, b in ((Wq, bq), (Wk, bk), (Wv, bv))
    )
    S = Q @ K.transpose(0, 2, 1) * np.float32(0.25)
    E = np.exp(S - S.max(axis=-1, keepdims=True))
    P = E / E.sum(axis=-1, keepdims=True)
    found: np.ndarray = (P @ V).transpose(1, 0, 2).reshape(64, 128) @ Wo + bo
    return found


ATTENTION = Network(
    attention,
    ((64, 128), *[(128, 128), (128,)] * 4),
    _reference,
    4 * 64 * 128 * 128 + 2 * 64 * 64 * 128,
)
