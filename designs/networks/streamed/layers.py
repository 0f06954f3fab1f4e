"""Layers as processes, float32: each reads its inputs once and in order, and so writes its result.

An array between two of them can be a FIFO (``Schedule.to``). A product keeps a row of its input and adds up
a row of its result, several columns side by side: each element in turn is multiplied by a row of the weights,
so that no sum waits for itself.
"""

from __future__ import annotations

import allo
from allo.ir.types import float32, int32


def linear[M: int32, K: int32, N: int32, relu: int32](
    X: float32[M, K], W: float32[K, N], b: float32[N]
) -> float32[M, N]:
    """``X @ W + b``, and a ReLU where ``relu`` is 1."""
    Y: float32[M, N]
    row: float32[K]
    total: float32[N]
    for i in range(M):
        for j0 in range(N):
            total[j0] = b[j0]
        for k0 in range(K):
            row[k0] = X[i, k0]
        for k, j in allo.grid(K, N):
            total[j] += row[k] * W[k, j]
        for j1 in range(N):
            if relu == 1:
                Y[i, j1] = max(total[j1], 0.0)
            else:
                Y[i, j1] = total[j1]
    return Y


def residual[M: int32, N: int32](
    X: float32[M, N], W: float32[N, N], b: float32[N]
) -> float32[M, N]:
    """``max(relu(X) @ W + b + X, 0)``: the row of ``X`` that it keeps for its sums is the residual's, too."""
    Y: float32[M, N]
    row: float32[N]
    total: float32[N]
    for i in range(M):
        for j0 in range(N):
            total[j0] = b[j0]
        for k0 in range(N):
            row[k0] = X[i, k0]
        for k, j in allo.grid(N, N):
            total[j] += max(row[k], 0.0) * W[k, j]
        for j1 in range(N):
            Y[i, j1] = max(total[j1] + row[j1], 0.0)
    return Y


def product[M: int32, K: int32, N: int32](X: float32[M, K], W: float32[K, N]) -> float32[M, N]:
    """``X @ W``, of which ``W`` is read before the first row of ``X``."""
    Y: float32[M, N]
    kept: float32[K, N]
    row: float32[K]
    total: float32[N]
    for k0, j0 in allo.grid(K, N):
        kept[k0, j0] = W[k0, j0]
    for i in range(M):
        for j1 in range(N):
            total[j1] = 0.0
        for k1 in range(K):
            row[k1] = X[i, k1]
        for k, j in allo.grid(K, N):
            total[j] += row[k] * kept[k, j]
        for j2 in range(N):
            Y[i, j2] = total[j2]
    return Y


def spread[M: int32, N: int32](
    X: float32[M, N], A: float32[M, N], B: float32[M, N], C: float32[M, N]
):
    """An input for three readers, of which that of ``A`` gets it again, behind the other two."""
    kept: float32[M, N]
    for i0, j0 in allo.grid(M, N):
        x: float32 = X[i0, j0]
        kept[i0, j0] = x
        B[i0, j0] = x
        C[i0, j0] = x
    for i, j in allo.grid(M, N):
        A[i, j] = kept[i, j]


def scores[L: int32, H: int32, D: int32](
    Q: float32[L, H * D], K: float32[L, H * D], scale: float32
) -> float32[L, H, L]:
    """``Q @ Kᵀ * scale`` of each head, of which ``K`` is read before the first row of ``Q``."""
    S: float32[L, H, L]
    kept: float32[L, H * D]
    row: float32[H * D]
    total: float32[H, L]
    for j0, c0 in allo.grid(L, H * D):
        kept[j0, c0] = K[j0, c0]
    for i in range(L):
        for h1, j1 in allo.grid(H, L):
            total[h1, j1] = 0.0
        for c1 in range(H * D):
            row[c1] = Q[i, c1] * scale
        for h, d, j in allo.grid(H, D, L):
            total[h, j] += row[h * D + d] * kept[j, h * D + d]
        for h2, j2 in allo.grid(H, L):
            S[i, h2, j2] = total[h2, j2]
    return S


def softmax[L: int32, H: int32](S: float32[L, H, L]) -> float32[L, H, L]:
    """Softmax of each row of each head."""
    P: float32[L, H, L]
    row: float32[L]
    powers: float32[L]
    for i, h in allo.grid(L, H):
        highest: float32 = -3.0e38
        total: float32 = 0.0
        for j in range(L):
            s: float32 = S[i, h, j]
            row[j] = s
            highest = max(highest, s)
        for j1 in range(L):
            power: float32 = allo.exp(row[j1] - highest)
            powers[j1] = power
            total += power
        inverse: float32 = 1.0 / total
        for j2 in range(L):
            P[i, h, j2] = powers[j2] * inverse
    return P


def mixed[L: int32, H: int32, D: int32](
    P: float32[L, H, L], V: float32[L, H * D]
) -> float32[L, H * D]:
    """``P @ V`` of each head, side by side; ``V`` is read before the first row of ``P``."""
    Z: float32[L, H * D]
    kept: float32[L, H * D]
    row: float32[H, L]
    total: float32[H * D]
    for j0, c0 in allo.grid(L, H * D):
        kept[j0, c0] = V[j0, c0]
    for i in range(L):
        for c1 in range(H * D):
            total[c1] = 0.0
        for h0, k0 in allo.grid(H, L):
            row[h0, k0] = P[i, h0, k0]
        for k, h, j in allo.grid(L, H, D):
            total[h * D + j] += row[h, k] * kept[k, h * D + j]
        for c2 in range(H * D):
            Z[i, c2] = total[c2]
    return Z
