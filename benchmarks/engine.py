"""The row engine the hardware benchmarks measure: an fp32 gemm that accumulates into its argument."""

from __future__ import annotations

import numpy as np

import allo
from allo.customize import Schedule
from allo.ir.types import float32


def gemm[M, N, K](A: float32[M, K], B: float32[K, N], C: float32[M, N]):
    """``C += A @ B``."""
    for i, j in allo.grid(M, N, name="gemm"):
        for k in allo.reduction(K):
            C[i, j] += A[i, k] * B[k, j]


def row_engine(sizes: tuple[int, int, int], lanes: int, *, banked: bool = True) -> Schedule:
    """The gemm of sizes (M, N, K) with its inner row unrolled by ``lanes`` and pipelined.

    Args:
        banked: partition the row, B and C, so that all lanes have a port; without it the memory
            ports limit the initiation interval.
    """
    s = allo.customize(gemm, instantiate=list(sizes))
    s.reorder("k", "j")
    row = s.buffer_at(s.C, axis="i")
    for loop in ("j", "j_init", "j_back"):
        s.unroll(loop, factor=lanes)
    s.pipeline("j")
    if banked:
        for array, dim in ((row, 1), (s.B, 2), (s.C, 2)):
            s.partition(array, partition_type=allo.Partition.Cyclic, dim=dim, factor=lanes)
    return s


def inputs(sizes: tuple[int, int, int], seed: int = 1) -> tuple[np.ndarray, ...]:
    """Random A and B, and C."""
    m, n, k = sizes
    rng = np.random.default_rng(seed)
    return tuple(rng.standard_normal(shape, np.float32) for shape in ((m, k), (k, n), (m, n)))


def operations(sizes: tuple[int, int, int]) -> int:
    """Float multiplications and additions of one run."""
    m, n, k = sizes
    return 2 * m * n * k
