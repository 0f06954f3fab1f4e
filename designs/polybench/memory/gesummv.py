"""gesummv: a pass over A and B beside each other."""

from __future__ import annotations

import allo
from allo.customize import Schedule
from allo.ir.types import float32

from ..blas.gesummv import SIZES, inputs, reference
from ..scale import alpha, beta
from .shape import Shape, bank

ARRAYS = ("A", "B", "x", "y")
SHAPES = {"one": Shape(1, 25), "many": Shape(1, 50), "mini": Shape(1, 6)}
"""For one channel an array, for at most four, and for a small size: lanes."""


def gesummv[N, L](A: float32[N, N], B: float32[N, N], x: float32[N], y: float32[N]):
    """``y = alpha * A @ x + beta * B @ x``, L elements of a row at a time."""
    z: float32[N]
    a: float32[N // L]
    b: float32[N // L]
    for i in range(N):
        for j in range(N // L):
            p: float32 = 0
            q: float32 = 0
            if i == 0:
                for n in range(L):
                    z[j * L + n] = x[j * L + n]
            for l in allo.reduction(L):
                p += A[i, j * L + l] * z[j * L + l]
                q += B[i, j * L + l] * z[j * L + l]
            a[j] = p
            b[j] = q
            if j == N // L - 1:
                e: float32 = 0
                f: float32 = 0
                for h in allo.reduction(N // L):
                    e += a[h]
                    f += b[h]
                y[i] = alpha * e + beta * f


def schedule(size: tuple[int, ...], shape: Shape) -> Schedule:
    """The design."""
    lanes = shape.lanes
    s = allo.customize(gesummv, instantiate=[size[0], lanes])
    s.pipeline("j")
    for loop in ("l", "h"):
        s.rebalance(loop)
    bank(s, lanes, s.A, s.B, dim=2)
    bank(s, lanes, s.x, s.z)
    for array in (s.a, s.b):
        s.partition(array)
    return s


def bytes_needed(size: tuple[int, ...]) -> dict[str, int]:
    """Bytes of each array that a run has to move, once."""
    n = size[0]
    return {"A": 4 * n * n, "B": 4 * n * n, "x": 4 * n, "y": 4 * n}


__all__ = ["ARRAYS", "SHAPES", "SIZES", "bytes_needed", "inputs", "reference", "schedule"]
