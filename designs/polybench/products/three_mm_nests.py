"""PolyBench 3mm in one function, as PolyBench has it: ``G = (A @ B) @ (C @ D)``."""

from __future__ import annotations

import allo
from allo.ir.types import float32, int32

from .three_mm import SIZES, inputs, reference


def three_mm_nests[E: (float32, int32), P, R, Q, T, S](
    A: E[P, Q], B: E[Q, R], C: E[R, S], D: E[S, T], G: E[P, T]
):
    """``G = (A @ B) @ (C @ D)``."""
    AB: E[P, R]
    CD: E[R, T]
    for i, j in allo.grid(R, T, name="clear_cd"):
        CD[i, j] = 0
    for i, j in allo.grid(R, T, name="cd"):
        for k in allo.reduction(S):
            CD[i, j] += C[i, k] * D[k, j]
    for i, j in allo.grid(P, R, name="clear_ab"):
        AB[i, j] = 0
    for i, j in allo.grid(P, R, name="ab"):
        for k in allo.reduction(Q):
            AB[i, j] += A[i, k] * B[k, j]
    for i, j in allo.grid(P, T, name="clear_rows"):
        G[i, j] = 0
    for i, j in allo.grid(P, T, name="rows"):
        for k in allo.reduction(R):
            G[i, j] += AB[i, k] * CD[k, j]


__all__ = ["SIZES", "inputs", "reference", "three_mm_nests"]
