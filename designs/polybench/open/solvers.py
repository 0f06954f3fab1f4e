"""Solvers of PolyBench 4.2.1 as these flows have them: whole roots, sums and solution in one function."""

from __future__ import annotations

from allo.ir.types import int32


def root(x: int32) -> int32:
    """The square root of a number that is not negative, rounded down, a bit at a time; else 0."""
    rest: int32 = x
    found: int32 = 0
    for n in range(16):
        bit: int32 = 1 << (30 - 2 * n)
        trial: int32 = found + bit
        if rest >= trial:
            rest -= trial
            found = (found >> 1) + bit
        else:
            found = found >> 1
    return found


def ludcmp[N](A: int32[N, N], b: int32[N], x: int32[N], y: int32[N]):
    """``A @ x = b``; A becomes its factors L and U."""
    for i in range(N):
        for j in range(i):
            w: int32 = A[i, j]
            for k in range(j):
                w -= A[i, k] * A[k, j]
            A[i, j] = w / A[j, j]
        for j1 in range(i, N):
            w1: int32 = A[i, j1]
            for k1 in range(i):
                w1 -= A[i, k1] * A[k1, j1]
            A[i, j1] = w1
    for i2 in range(N):
        w2: int32 = b[i2]
        for j2 in range(i2):
            w2 -= A[i2, j2] * y[j2]
        y[i2] = w2
    for i3 in range(N - 1, -1, -1):
        w3: int32 = y[i3]
        for j3 in range(i3 + 1, N):
            w3 -= A[i3, j3] * x[j3]
        x[i3] = w3 / A[i3, i3]


def cholesky[N](A: int32[N, N]):
    """The lower triangle of A becomes its Cholesky factor; the upper one stays."""
    for i in range(N):
        for j in range(i):
            for k in range(j):
                A[i, j] -= A[i, k] * A[j, k]
            A[i, j] /= A[j, j]
        for k1 in range(i):
            A[i, i] -= A[i, k1] * A[i, k1]
        A[i, i] = root(A[i, i])


def gramschmidt[M, N](A: int32[M, N], R: int32[N, N], Q: int32[M, N]):
    """The columns of A, made orthonormal in Q; R above and on its diagonal. A is used up."""
    for k in range(N):
        norm: int32 = 0
        for i in range(M):
            norm += A[i, k] * A[i, k]
        R[k, k] = root(norm)
        for i1 in range(M):
            Q[i1, k] = A[i1, k] / R[k, k]
        for j in range(k + 1, N):
            R[k, j] = 0
            for i2 in range(M):
                R[k, j] += Q[i2, k] * A[i2, j]
            for i3 in range(M):
                A[i3, j] = A[i3, j] - Q[i3, k] * R[k, j]
