"""trisolv: rows of L pass in order, a line of the bus at a time; what lies above the diagonal counts as 0."""

from __future__ import annotations

import allo
from allo.customize import Schedule
from allo.ir.types import float32

from ..shape import bank

LANES = 16
"""Neighbours in a row at once, at most: a line of the bus."""


def trisolv[N, K](L: float32[N, N], b: float32[N], x: float32[N]):
    """``L @ x = b``, by substitution, K elements of a row at a time."""
    xs: float32[N] = 0
    parts: float32[N // K]
    diagonal: float32[1]
    for i in range(N):
        for j in range(N // K):
            p: float32 = 0
            for k in allo.reduction(K):
                e: float32 = L[i, j * K + k]
                if j * K + k == i:
                    diagonal[0] = e
                below: float32 = e if j * K + k < i else 0.0
                p += below * xs[j * K + k]
            parts[j] = p
            if j == N // K - 1:
                total: float32 = 0
                for h in allo.reduction(N // K):
                    total += parts[h]
                f: float32 = (b[i] - total) / diagonal[0]
                xs[i] = f
                x[i] = f


def schedule(size: tuple[int, ...]) -> Schedule:
    """A row of L is a pass of a pipeline that waits for the last element of x."""
    n = size[0]
    lanes = max(k for k in range(1, LANES + 1) if n % k == 0)
    s = allo.customize(trisolv, instantiate=[n, lanes])
    s.pipeline("j")
    for loop in ("k", "h"):
        s.rebalance(loop)
    bank(s, lanes, s.L, dim=2)
    bank(s, lanes, s.xs)
    for array in (s.parts, s.diagonal):
        s.partition(array)
    return s


__all__ = ["schedule"]
