"""Products of matrices, as PolyBench 4.2.1 writes them."""

from __future__ import annotations

from allo.ir.types import int32


def gemm[P, Q, R](alpha: int32, beta: int32, A: int32[P, Q], B: int32[Q, R], C: int32[P, R]):
    """``C = alpha * A @ B + beta * C``."""
    for i in range(P):
        for j in range(R):
            C[i, j] *= beta
        for k in range(Q):
            for j1 in range(R):
                C[i, j1] += alpha * A[i, k] * B[k, j1]


def two_mm[P, R, Q, S](
    alpha: int32,
    beta: int32,
    A: int32[P, Q],
    B: int32[Q, R],
    C: int32[R, S],
    D: int32[P, S],
    AB: int32[P, R],
):
    """``D = alpha * A @ B @ C + beta * D``."""
    for i in range(P):
        for j in range(R):
            AB[i, j] = 0
            for k in range(Q):
                AB[i, j] += alpha * A[i, k] * B[k, j]
    for i1 in range(P):
        for j1 in range(S):
            D[i1, j1] *= beta
            for k1 in range(R):
                D[i1, j1] += AB[i1, k1] * C[k1, j1]


def three_mm[P, R, Q, T, S](
    A: int32[P, Q],
    B: int32[Q, R],
    C: int32[R, S],
    D: int32[S, T],
    AB: int32[P, R],
    CD: int32[R, T],
    G: int32[P, T],
):
    """``G = (A @ B) @ (C @ D)``."""
    for i in range(P):
        for j in range(R):
            AB[i, j] = 0
            for k in range(Q):
                AB[i, j] += A[i, k] * B[k, j]
    for i1 in range(R):
        for j1 in range(T):
            CD[i1, j1] = 0
            for k1 in range(S):
                CD[i1, j1] += C[i1, k1] * D[k1, j1]
    for i2 in range(P):
        for j2 in range(T):
            G[i2, j2] = 0
            for k2 in range(R):
                G[i2, j2] += AB[i2, k2] * CD[k2, j2]


def doitgen[Q, R, P, S](C4: int32[S, P], A: int32[R, Q, S], total: int32[P]):
    """``A[r, q] = A[r, q] @ C4`` for every r and q."""
    for r in range(R):
        for q in range(Q):
            for p in range(P):
                total[p] = 0
                for s in range(S):
                    total[p] += A[r, q, s] * C4[s, p]
            for p1 in range(P):
                A[r, q, p1] = total[p1]


def matmul[N](A: int32[N, N], B: int32[N, N], C: int32[N, N]):
    """``C = A @ B``."""
    for i in range(N):
        for j in range(N):
            C[i, j] = 0
            for k in range(N):
                C[i, j] += A[i, k] * B[k, j]
