"""Linear layers: ``X · Wᵀ + b``, with a row of results accumulating side by side."""

from __future__ import annotations

import allo
from allo.customize import Schedule
from allo.ir.types import int8, int32, int64

from .._defaults import scheduled_by


def linear2d[TyX, TyW, TyO, M: int32, N: int32, K: int32](
    X: TyX[M, K], W: TyW[N, K], b: TyO[N]
) -> TyO[M, N]:
    """``X[M, K] · W[N, K]ᵀ + b[N]``; each row accumulates in a buffer, k outside j."""
    Z: TyO[M, N]
    buf: TyO[N]
    for i in range(M):
        for j_init in range(N):
            buf[j_init] = 0
        for k, j in allo.grid(K, N, name="product"):
            buf[j] += X[i, k] * W[j, k]
        for j_back in range(N):
            Z[i, j_back] = buf[j_back] + b[j_back]
    return Z


def linear3d[TyX, TyW, TyO, B: int32, L: int32, D: int32, M: int32](
    X: TyX[B, L, D], W: TyW[M, D], bias: TyO[M]
) -> TyO[B, L, M]:
    """``X[B, L, D] · W[M, D]ᵀ + bias[M]``, batched over ``B``."""
    Z: TyO[B, L, M]
    buf: TyO[M]
    for i, r in allo.grid(B, L):
        for j_init in range(M):
            buf[j_init] = 0
        for k, j in allo.grid(D, M, name="product"):
            buf[j] += X[i, r, k] * W[j, k]
        for j_back in range(M):
            Z[i, r, j_back] = buf[j_back] + bias[j_back]
    return Z


def linear_int8[M: int32, N: int32, K: int32](
    X: int8[M, K], W: int8[N, K], b: int32[N]
) -> int32[M, N]:
    """An int8 layer with int32 accumulators: ``X[M, K] · W[N, K]ᵀ + b[N]``, exact."""
    Z: int32[M, N]
    for i, j in allo.grid(M, N, name="rows"):
        acc: int32 = b[j]
        for k in allo.reduction(K):
            acc += X[i, k] * W[j, k]
        Z[i, j] = acc
    return Z


def requantize[M: int32, N: int32](
    A: int32[M, N], multiplier: int32[N], shift: int32[N]
) -> int8[M, N]:
    """Per-channel requantisation of accumulators to int8.

    Column j becomes ``clamp((A * multiplier[j] + 2**(shift[j]-1)) >> shift[j], -128, 127)``, which
    rounds halves upwards; ``shift`` is 1 … 62, the product is taken in 64 bits.
    """
    Z: int8[M, N]
    for i, j in allo.grid(M, N, name="requant"):
        one: int64 = 1
        product: int64 = A[i, j] * multiplier[j]
        rounded: int64 = product + (one << (shift[j] - 1))
        scaled: int64 = rounded >> shift[j]
        low: int64 = scaled if scaled > -128 else -128
        clamped: int64 = low if low < 127 else 127
        Z[i, j] = clamped
    return Z


def linear_requant[M: int32, N: int32, K: int32](
    X: int8[M, K], W: int8[N, K], b: int32[N], multiplier: int32[N], shift: int32[N]
) -> int8[M, N]:
    """An int8 layer from int8 to int8: :func:`linear_int8`, then :func:`requantize`."""
    acc: int32[M, N] = linear_int8[M, N, K](X, W, b)
    return requantize[M, N](acc, multiplier, shift)


def schedule_linear2d(s: Schedule) -> Schedule:
    """Pipeline the three inner loops of each row."""
    for loop in ("j_init", "j", "j_back"):
        s.pipeline(f"{s.top_func_name}:{loop}")
    return s


def schedule_linear3d(s: Schedule) -> Schedule:
    """Pipeline the three inner loops of each row."""
    return schedule_linear2d(s)


def schedule_linear_int8(s: Schedule) -> Schedule:
    """Pipeline the dot product."""
    s.pipeline(f"{s.top_func_name}:k")
    return s


def schedule_requantize(s: Schedule) -> Schedule:
    """Pipeline over the columns."""
    s.pipeline(f"{s.top_func_name}:j")
    return s


scheduled_by(linear2d, schedule_linear2d)
scheduled_by(linear3d, schedule_linear3d)
scheduled_by(linear_int8, schedule_linear_int8)
scheduled_by(requantize, schedule_requantize)
