"""Small kernels that several benchmarks and tests synthesise."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import allo
from allo.customize import Schedule
from allo.ir.types import float32, int8, int16, int32


def gemm(A: int8[16, 16], B: int8[16, 16]) -> int32[16, 16]:
    """A product of matrices, summed in memory."""
    C: int32[16, 16] = 0
    for i, j in allo.grid(16, 16):
        for k in allo.reduction(16):
            C[i, j] += A[i, k] * B[k, j]
    return C


def float_gemm(A: float32[8, 8], B: float32[8, 8], C: float32[8, 8]):
    """A product of matrices row by row: eight sums are under way at once."""
    for i in range(8):
        row: float32[8] = 0
        for k in range(8):
            for j in range(8):
                row[j] += A[i, k] * B[k, j]
        for j in range(8):
            C[i, j] = row[j]


def kept(x: int16[256], y: int16[256], z: int16[256]):
    """A memory that is read at two places in a cycle."""
    t: int16[1024]
    for i in range(256):
        t[i] = x[i] + y[i]
        t[i + 256] = x[i]
    for i in range(256):
        z[i] = t[255 - i] ^ t[511 - i]


def largest(x: int16[64], y: int16[64]):
    """The two smallest numbers so far, in registers."""
    a: int16 = 0
    b: int16 = 0
    for i in range(64):
        if x[i] < a:
            b = a
            a = x[i]
        elif x[i] < b:
            b = x[i]
        y[i] = b - a


def axpy(a: float32, x: float32[64], y: float32[64]):
    """A float product and a float sum."""
    for i in range(64):
        y[i] = a * x[i] + y[i]


def quotients(x: int16[64], y: int16[64], z: int16[64]):
    """A division of integers in every cycle."""
    for i in range(64):
        z[i] = x[i] // y[i]


def float_quotients(x: float32[64], y: float32[64]):
    """A division of floats in every cycle."""
    for i in range(64):
        y[i] = x[i] / y[i]


def wide(x: int32[64], y: int32[64], z: int32[64]):
    """A product that takes several multiplier blocks."""
    for i in range(64):
        z[i] = x[i] * y[i] + 7


def pipelined(kernel: Callable[..., Any], loops: Iterable[str]) -> Schedule:
    """A kernel with some of its loops as pipelines."""
    made = allo.customize(kernel)
    for loop in loops:
        made.pipeline(loop)
    return made
