"""The matrix product the designs share, and its schedule: an engine that computes one row at a time."""

from __future__ import annotations

import numpy as np

import allo
from allo.customize import Schedule
from allo.ir.types import AlloType


def product[TIn, TOut, M, N, K](A: TIn[M, K], B: TIn[K, N]) -> TOut[M, N]:
    """``A @ B``, accumulated in ``TOut`` with k ascending."""
    out: TOut[M, N] = 0
    for i, j in allo.grid(M, N, name="product"):
        for k in allo.reduction(K):
            out[i, j] += A[i, k] * B[k, j]
    return out


def schedule_product(
    element: AlloType, result: AlloType, sizes: tuple[int, int, int], lanes: int
) -> Schedule:
    """A row of ``out`` stays in a buffer while ``lanes`` multiplier-adder pairs sweep over it.

    Args:
        element: type of the factors' elements.
        result: type of the sums.
        sizes: M, N, K of ``(M, K) @ (K, N)``.
        lanes: pairs side by side; divides N. The sweep over a row, N / lanes steps, must be no
            shorter than the adder's latency for an initiation interval of one.
    """
    s = allo.customize(product, instantiate=[element, result, *sizes])
    s.reorder("k", "j")
    row = s.buffer_at(s.out, axis="i")
    s.unroll("j", factor=lanes)
    s.pipeline("j")
    s.unroll("j_init", factor=lanes)
    s.unroll("j_back", factor=lanes)
    s.partition(row, partition_type=allo.Partition.Cyclic, dim=1, factor=lanes)
    s.partition(s.B, partition_type=allo.Partition.Cyclic, dim=2, factor=lanes)
    s.partition(s.out, partition_type=allo.Partition.Cyclic, dim=2, factor=lanes)
    return s


def reference_product(A: np.ndarray, B: np.ndarray, result: type[np.generic]) -> np.ndarray:
    """``A @ B`` with the kernel's order of additions, so that floats agree bit for bit."""
    out = np.zeros((A.shape[0], B.shape[1]), result)
    for k in range(A.shape[1]):
        out += A[:, k : k + 1].astype(result) * B[k : k + 1].astype(result)
    return out
