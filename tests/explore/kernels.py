"""Kernels for which schedules are searched: small, of the shapes that the search tells apart."""

import allo
from allo.ir.types import float32, int32


def product(A: float32[12, 16], B: float32[16, 14], C: float32[12, 14]):
    for i, j in allo.grid(12, 14):
        for k in allo.reduction(16):
            C[i, j] += A[i, k] * B[k, j]


def sweep(A: int32[8, 30], B: int32[8, 30]):
    for i, j in allo.grid(8, 30):
        B[i, j] = A[i, j] * A[i, j] + 3


def triangle(A: float32[12, 9], C: float32[12, 12]):
    for i in range(12):
        for j in range(i + 1):
            dot: float32 = 0
            for k in allo.reduction(9):
                dot += A[i, k] * A[j, k]
            C[i, j] = 1.5 * dot + 1.25 * C[i, j]


def stencil(A: float32[20, 20], B: float32[20, 20]):
    for i, j in allo.grid(18, 18):
        B[i + 1, j + 1] = 0.25 * (A[i, j + 1] + A[i + 2, j + 1] + A[i + 1, j] + A[i + 1, j + 2])


def in_place(A: float32[20]):
    for _t in range(3):
        for i in range(1, 19):
            A[i] = 0.5 * (A[i - 1] + A[i + 1])


def gather(x: float32[32], at: int32[40], y: float32[40]):
    for i in range(40):
        y[i] = x[at[i]] * 2.0


def countdown(n: int32) -> int32:
    steps: int32 = 0
    x: int32 = n
    while x > 0:
        x = x - 3
        steps += 1
    for i in range(4):
        steps += i
    return steps


def pair(A: float32[16, 16], x: float32[16], y: float32[16], p: float32[16], q: float32[16]):
    for i in range(16, name="first"):
        for j in allo.reduction(16):
            p[i] += A[i, j] * x[j]
    for i in range(16, name="second"):
        for j in allo.reduction(16):
            q[j] += A[i, j] * y[i]


def straight(a: int32, b: int32) -> int32:
    return a * b
