"""Products of matrices and vectors, as PolyBench 4.2.1 writes them, and a filter."""

from __future__ import annotations

from allo.ir.types import int32


def atax[M, N](A: int32[M, N], x: int32[N], y: int32[N], Ax: int32[M]):
    """``y = A.T @ (A @ x)``."""
    for n in range(N):
        y[n] = 0
    for i in range(M):
        Ax[i] = 0
        for j in range(N):
            Ax[i] += A[i, j] * x[j]
        for j1 in range(N):
            y[j1] += A[i, j1] * Ax[i]


def bicg[M, N](A: int32[N, M], p: int32[M], r: int32[N], s: int32[M], q: int32[N]):
    """``s = A.T @ r``, ``q = A @ p``."""
    for m in range(M):
        s[m] = 0
    for i in range(N):
        q[i] = 0
        for j in range(M):
            s[j] += r[i] * A[i, j]
            q[i] += A[i, j] * p[j]


def mvt[N](A: int32[N, N], y1: int32[N], y2: int32[N], x1: int32[N], x2: int32[N]):
    """``x1 += A @ y1``, ``x2 += A.T @ y2``."""
    for i in range(N):
        for j in range(N):
            x1[i] += A[i, j] * y1[j]
    for i1 in range(N):
        for j1 in range(N):
            x2[i1] += A[j1, i1] * y2[j1]


def gesummv[N](
    alpha: int32,
    beta: int32,
    A: int32[N, N],
    B: int32[N, N],
    x: int32[N],
    y: int32[N],
    Ax: int32[N],
):
    """``y = alpha * A @ x + beta * B @ x``."""
    for i in range(N):
        Ax[i] = 0
        y[i] = 0
        for j in range(N):
            Ax[i] += A[i, j] * x[j]
            y[i] += B[i, j] * x[j]
        y[i] = alpha * Ax[i] + beta * y[i]


def gemver[N](
    alpha: int32,
    beta: int32,
    u1: int32[N],
    v1: int32[N],
    u2: int32[N],
    v2: int32[N],
    y: int32[N],
    z: int32[N],
    A: int32[N, N],
    x: int32[N],
    w: int32[N],
):
    """``A += u1 v1.T + u2 v2.T``, ``x += beta * A.T @ y + z``, ``w += alpha * A @ x``."""
    for i in range(N):
        for j in range(N):
            A[i, j] = A[i, j] + u1[i] * v1[j] + u2[i] * v2[j]
    for i1 in range(N):
        for j1 in range(N):
            x[i1] = x[i1] + beta * A[j1, i1] * y[j1]
    for i2 in range(N):
        x[i2] = x[i2] + z[i2]
    for i3 in range(N):
        for j3 in range(N):
            w[i3] = w[i3] + alpha * A[i3, j3] * x[j3]


def fir[N](x: int32[N], taps: int32[N]) -> int32:
    """The last output of a filter of N taps: ``x`` runs backwards."""
    total: int32 = 0
    for i in range(N):
        total += taps[i] * x[N - 1 - i]
    return total
