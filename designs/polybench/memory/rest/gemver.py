"""gemver: A passes once, in place, and stays on chip for the second product."""

from __future__ import annotations

import allo
from allo.customize import Schedule
from allo.ir.types import float32

from ...scale import alpha, beta
from ..shape import bank

LANES = 16
"""Neighbours in a row at once, at most: a line of the bus."""


def gemver[N, L](
    u1: float32[N],
    v1: float32[N],
    u2: float32[N],
    v2: float32[N],
    y: float32[N],
    z: float32[N],
    A: float32[N, N],
    x: float32[N],
    w: float32[N],
):
    """``A += u1 v1.T + u2 v2.T``, ``x += beta * A.T @ y + z``, ``w += alpha * A @ x``, L elements at once."""
    a: float32[N, N]
    left: float32[2, N]
    right: float32[2, N]
    ys: float32[N]
    xs: float32[N]
    parts: float32[N // L]
    for m in range(N // L):
        for n in range(L):
            left[0, m * L + n] = u1[m * L + n]
            left[1, m * L + n] = u2[m * L + n]
            right[0, m * L + n] = v1[m * L + n]
            right[1, m * L + n] = v2[m * L + n]
            ys[m * L + n] = y[m * L + n]
            xs[m * L + n] = x[m * L + n]
    for i in range(N):
        for j in range(N // L):
            for l in range(L):
                both: float32 = left[0, i] * right[0, j * L + l] + left[1, i] * right[1, j * L + l]
                e: float32 = A[i, j * L + l] + both
                a[i, j * L + l] = e
                A[i, j * L + l] = e
                xs[j * L + l] += beta * ys[i] * e
    for m1 in range(N // L):
        for n1 in range(L):
            f: float32 = xs[m1 * L + n1] + z[m1 * L + n1]
            xs[m1 * L + n1] = f
            x[m1 * L + n1] = f
    for i2 in range(N):
        for j2 in range(N // L):
            p: float32 = 0
            for l2 in allo.reduction(L):
                p += a[i2, j2 * L + l2] * xs[j2 * L + l2]
            parts[j2] = p
            if j2 == N // L - 1:
                g: float32 = 0
                for h in allo.reduction(N // L):
                    g += parts[h]
                w[i2] = w[i2] + alpha * g


def schedule(size: tuple[int, ...]) -> Schedule:
    """Both passes take a line of the bus in a cycle."""
    n = size[0]
    lanes = max(k for k in range(1, LANES + 1) if n % k == 0)
    s = allo.customize(gemver, instantiate=[n, lanes])
    for loop in ("m", "j", "m1", "j2"):
        s.pipeline(loop)
    for loop in ("l2", "h"):
        s.rebalance(loop)
    bank(s, lanes, s.A, s.a, s.left, s.right, dim=2)
    bank(s, lanes, s.u1, s.v1, s.u2, s.v2, s.y, s.z, s.x, s.ys, s.xs)
    for array in (s.left, s.right):
        s.partition(array, dim=1)
    s.partition(s.parts)
    return s


__all__ = ["schedule"]
