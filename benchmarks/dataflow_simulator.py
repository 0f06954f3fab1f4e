"""The dataflow simulator: time of a put with its get, and of thousands of processes.

scripts/python benchmarks/dataflow_simulator.py
"""

# A stream is declared by its annotation alone, and a drain's loop variable has no use.
# ruff: noqa: F821, B007

from __future__ import annotations

import sys
import time

import numpy as np

import allo
import allo.dataflow as df
from allo.ir.types import Stream, int8, int32
from benchmarks.harness import Row, command_line, finish, seconds


def systolic(rows: int, length: int) -> object:
    """A region of ``rows``² processing elements and the feeders and drains around them."""
    M, K = rows, length

    @df.region()
    def top(A: int8[M, K], B: int8[K, M], C: int32[M, M]):
        across: Stream[int8, 2][M, M + 1]
        down: Stream[int8, 2][M + 1, M]

        @df.kernel(mapping=[M + 2, M + 2], args=[A, B, C])
        def pe(a: int8[M, K], b: int8[K, M], c: int32[M, M]):
            i, j = df.get_pid()
            with allo.meta_if((i == 0 or i == M + 1) and (j == 0 or j == M + 1)):
                pass
            with allo.meta_elif(j == 0):
                for k in range(K):
                    across[i - 1, 0].put(a[i - 1, k])
            with allo.meta_elif(i == 0):
                for k in range(K):
                    down[0, j - 1].put(b[k, j - 1])
            with allo.meta_elif(j == M + 1):
                for k in range(K):
                    x: int8 = across[i - 1, M].get()
            with allo.meta_elif(i == M + 1):
                for k in range(K):
                    y: int8 = down[M, j - 1].get()
            with allo.meta_else():
                total: int32 = 0
                for k in range(K):
                    x: int8 = across[i - 1, j - 1].get()
                    y: int8 = down[i - 1, j - 1].get()
                    total += x * y
                    across[i - 1, j].put(x)
                    down[i, j - 1].put(y)
                c[i - 1, j - 1] = total

    return top


def measure(rows: int, length: int) -> tuple[float, float]:
    """(seconds to compile the core IR, seconds of a run) of a systolic product, checked."""
    schedule = df.customize(systolic(rows, length))
    start = time.perf_counter()
    module = schedule.build(target="simulator")
    built = time.perf_counter() - start
    rng = np.random.default_rng(0)
    a = rng.integers(-128, 128, (rows, length), dtype=np.int8)
    b = rng.integers(-128, 128, (length, rows), dtype=np.int8)
    c = np.zeros((rows, rows), np.int32)
    run = seconds(lambda: module(a, b, c))
    if not np.array_equal(c, a.astype(np.int32) @ b.astype(np.int32)):
        raise RuntimeError("the simulator and NumPy differ")
    return built, run


def main() -> int:
    """Measure, print, write."""
    target = command_line(__doc__).parse_args().json
    rows, length = 16, 1024
    _, run = measure(rows, length)
    transfers = 2 * rows * (rows + 1) * length
    built, many = measure(62, 8)
    return finish(
        "dataflow_simulator",
        "Dataflow simulator: int8 systolic products",
        [
            Row("put and get, 16×16 grid", run / transfers * 1e9, "ns", "limit", 100, True),
            Row("run of 4,092 processes", many * 1e3, "ms", "limit", 500, True),
            Row("compiling 4,092 instances", built, "s", "limit", 20, True),
        ],
        target,
    )


if __name__ == "__main__":
    sys.exit(main())
