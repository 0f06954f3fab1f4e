"""Figures that the prose of pages names, measured on the kernels that stand there."""

from __future__ import annotations

import numpy as np
import pytest

import allo
from allo.customize import Partition, Schedule
from allo.ir.types import float32, int32
from tests.figures_plugin import Held


def gemm(A: float32[64, 64], B: float32[64, 64]) -> float32[64, 64]:
    C: float32[64, 64] = 0
    for i, j in allo.grid(64, 64):
        for k in allo.reduction(64):
            C[i, j] += A[i, k] * B[k, j]
    return C


def dot(x: float32[1024], y: float32[1024]) -> float32:
    total: float32 = 0.0
    for i in range(64):
        for k in range(16):
            total += x[16 * i + k] * y[16 * i + k]
    return total


def dot_of_integers(x: int32[1024], y: int32[1024]) -> int32:
    total: int32 = 0
    for i in range(64):
        for k in range(16):
            total += x[16 * i + k] * y[16 * i + k]
    return total


def chain(A: int32[64], B: int32[64], C: int32[64], D: int32[64]):
    T: int32[64]
    for i in range(64):
        T[i] = A[i] * 3
    for j in range(64):
        B[j] = T[j] + 1
    for k in range(64):
        D[k] = C[k] * 5


def rows(A: int32[64, 64], B: int32[64, 64]):
    for i in range(64):
        T: int32[64]
        for j in range(64):
            T[j] = A[i, j] * 3
        for k in range(64):
            B[i, k] = T[63 - k] + 1


def hold_run(
    figures: Held, key: str, s: Schedule, *arrays: np.ndarray, overlap: bool = True
) -> None:
    """The CPU's elements in the cycles of the report, no more than recorded."""
    ours, theirs = ([array.copy() for array in arrays] for _ in range(2))
    module = s.build(target="verilog", simulator="jit", overlap_loops=overlap)
    found, expected = module(*ours), s.build()(*theirs)
    pairs = [*zip(ours, theirs, strict=True), (np.asarray(found), np.asarray(expected))]
    for one, other in pairs:
        np.testing.assert_array_equal(one, other)
    figures.hold(key, module.cycles, report=module.report.cycles)


@pytest.mark.parametrize("pairs", [4, 1])
def test_the_first_example(pairs: int, figures: Held) -> None:
    s = allo.customize(gemm)
    s.reorder("k", "j")
    row = s.buffer_at(s.C, axis="i")
    if pairs > 1:
        s.unroll("j", factor=pairs)
    s.pipeline("j")
    for array, dim in ((row, 1), (s.B, 2)) if pairs > 1 else ():
        s.partition(array, partition_type=Partition.Cyclic, dim=dim, factor=pairs)
    arrays = np.random.default_rng(0).random((2, 64, 64), np.float32)
    hold_run(figures, f"docs.first_example.pairs_{pairs}.cycles", s, *arrays)


@pytest.mark.parametrize("kernel", [dot, dot_of_integers])
@pytest.mark.parametrize("steps", [1, 2, 3])
def test_a_sum_of_sixteen_products(kernel, steps: int, figures: Held) -> None:
    s = allo.customize(kernel)
    s.partition(s.x, Partition.Cyclic, 1, 16)
    s.partition(s.y, Partition.Cyclic, 1, 16)
    s.pipeline("i")
    if steps > 1:
        s.rebalance("k")
    if steps > 2:
        s.interleave("i", 8)
    name = f"docs.{kernel.__name__}.{('pipelined', 'rebalanced', 'interleaved')[steps - 1]}"
    x, y = (np.arange(1024, dtype=np.int32) % 7 for _ in "xy")
    if kernel is dot:
        hold_run(figures, f"{name}.cycles", s, x.astype(np.float32), y.astype(np.float32))
    else:
        hold_run(figures, f"{name}.cycles", s, x, y)
    loops = s.build(target="verilog").report.functions[0].loops
    figures.hold(f"{name}.ii", max(loop.ii for loop in loops if loop.pipelined))


@pytest.mark.parametrize("marked", [True, False])
def test_a_chain_of_tasks(marked: bool, figures: Held) -> None:
    s = allo.customize(chain)
    for name in "ijk":
        s.pipeline(name)
    if marked:
        s.dataflow("chain")
    arrays = [np.arange(64, dtype=np.int32) * n for n in range(1, 5)]
    hold_run(figures, f"docs.chain.{'tasks' if marked else 'plain'}.cycles", s, *arrays)


@pytest.mark.parametrize("marked", [True, False])
def test_tasks_of_a_loop(marked: bool, figures: Held) -> None:
    s = allo.customize(rows)
    s.pipeline("j")
    s.pipeline("k")
    if marked:
        s.dataflow(s.get_loops()["S_i_0"]["i"])
    key = f"docs.rows.{'tasks' if marked else 'plain'}.cycles"
    hold_run(figures, key, s, *np.ones((2, 64, 64), np.int32), overlap=marked)
