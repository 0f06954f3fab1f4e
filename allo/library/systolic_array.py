"""A systolic array as a dataflow region: one process a cell, operands passed through FIFOs.

Cell ``(i, j)`` holds ``C[i, j]``; rows of A enter from the left, columns of B from above, each one
step a cycle, so a product of depth K takes K cycles and the way across the array.
"""

from __future__ import annotations

import allo
import allo.dataflow as df
from allo.customize import Schedule
from allo.ir.types import Stream, int32


@df.region()
def systolic_array[TyA, TyB, TyC, M: int32, K: int32, N: int32](
    A: TyA[M, K], B: TyB[K, N], C: TyC[M, N]
):
    """``C[M, N] = A[M, K] · B[K, N]`` on ``M × N`` cells."""
    rightwards: Stream[TyA, 2][M, N]
    downwards: Stream[TyB, 2][M, N]
    results: Stream[TyC, 2][M, N]

    @df.kernel(mapping=[1], args=[A])
    def feed_rows(x: TyA[M, K]):
        for k in range(K):
            with allo.meta_for(M) as i:
                rightwards[i, 0].put(x[i, k])

    @df.kernel(mapping=[1], args=[B])
    def feed_columns(y: TyB[K, N]):
        for k in range(K):
            with allo.meta_for(N) as j:
                downwards[0, j].put(y[k, j])

    @df.kernel(mapping=[M, N])
    def cell():
        i, j = df.get_pid()
        acc: TyC = 0
        for _ in range(K):
            a: TyA = rightwards[i, j].get()
            b: TyB = downwards[i, j].get()
            acc += a * b
            with allo.meta_if(j < N - 1):
                rightwards[i, j + 1].put(a)
            with allo.meta_if(i < M - 1):
                downwards[i + 1, j].put(b)
        results[i, j].put(acc)

    @df.kernel(mapping=[1], args=[C])
    def collect(z: TyC[M, N]):
        with allo.meta_for(M) as i:  # noqa: SIM117
            with allo.meta_for(N) as j:
                z[i, j] = results[i, j].get()


def schedule_systolic_array(s: Schedule) -> Schedule:
    """A step of k each cycle in every process; a bank of A a row, of B a column, of C a row."""
    for name in s.func_args:
        for _, band in s.get_loops(name):
            for _, loop in band:
                s.pipeline(loop)
    top = s.top_func_name
    s.partition(f"{top}:A", dim=1)
    s.partition(f"{top}:B", dim=2)
    s.partition(f"{top}:C", dim=1)
    return s
