"""Triangular and symmetric products, as PolyBench 4.2.1 writes them."""

from __future__ import annotations

from allo.ir.types import int32


def syrk[M, N](alpha: int32, beta: int32, A: int32[N, M], C: int32[N, N]):
    """``C = alpha * A @ A.T + beta * C`` on the lower triangle."""
    for i in range(N):
        for j in range(i + 1):
            C[i, j] *= beta
        for k in range(M):
            for j1 in range(i + 1):
                C[i, j1] += alpha * A[i, k] * A[j1, k]


def syr2k[M, N](alpha: int32, beta: int32, A: int32[N, M], B: int32[N, M], C: int32[N, N]):
    """``C = alpha * (A @ B.T + B @ A.T) + beta * C`` on the lower triangle."""
    for i in range(N):
        for j in range(i + 1):
            C[i, j] *= beta
        for k in range(M):
            for j1 in range(i + 1):
                C[i, j1] += A[j1, k] * alpha * B[i, k] + B[j1, k] * alpha * A[i, k]


def symm[M, N](alpha: int32, beta: int32, A: int32[M, M], B: int32[M, N], C: int32[M, N]):
    """``C = alpha * A @ B + beta * C`` for a symmetric A, of which the lower triangle is read."""
    for i in range(M):
        for j in range(N):
            total: int32 = 0
            for k in range(i):
                C[k, j] += alpha * B[i, j] * A[i, k]
                total += B[k, j] * A[i, k]
            C[i, j] = beta * C[i, j] + alpha * B[i, j] * A[i, i] + alpha * total


def trmm[M, N](alpha: int32, A: int32[M, M], B: int32[M, N]):
    """``B = alpha * A.T @ B`` for a lower triangle A with ones on its diagonal."""
    for i in range(M):
        for j in range(N):
            for k in range(i + 1, M):
                B[i, j] += A[k, i] * B[k, j]
            B[i, j] = alpha * B[i, j]
