"""Loops bounded by other loops: what the bounds keep apart overlaps, and what meets waits."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pytest

import allo
from allo import Partition
from allo.customize import Schedule
from allo.ir.types import float32, int32

N = 9


def below(A: int32[N, N], x: int32[N]):
    for i in range(N):
        for j in range(i):
            x[i] = x[i] * 3 - A[i, j] * x[j]


def up_to(A: int32[N, N], x: int32[N]):
    for i in range(N):
        for j in range(i + 1):
            x[i] = x[i] * 3 - A[i, j] * x[j]


def above(A: int32[N, N], x: int32[N]):
    for i in range(N):
        for j in range(i + 1, N):
            x[j] = x[j] * 3 - A[i, j] * x[i]


def crossing(A: int32[N, N], x: int32[N]):
    for i in range(N):
        for j in range(i, N):
            x[j] = x[N - 1 - j] * 3 + A[i, j] * x[i]


def shifted(A: int32[N, N], x: int32[N]):
    for i in range(N):
        for j in range(i):
            x[j + 1] = x[j] * 3 + A[i, j] * x[i]


def banded(A: int32[N, N], x: int32[N]):
    for i in range(N):
        for j in range(max(0, i - 2), min(N, i + 3)):
            x[j] = x[j] * 3 - A[i, j] * x[i]


def strided(A: int32[N, N], x: int32[N]):
    for i in range(N):
        for j in range(i % 2, i, 2):
            x[i] = x[i] * 3 - A[i, j] * x[j + 1]


def eliminate(A: int32[N, N], x: int32[N]):
    for i in range(N):
        for k in range(i):
            for j in range(i, N):
                A[i, j] = A[i, j] * 3 - A[i, k] * A[k, j]
        x[i] = A[i, i]


def factorise(A: int32[N, N], x: int32[N]):
    for i in range(N):
        for j in range(i):
            for k in range(j):
                A[i, j] = A[i, j] * 3 - A[i, k] * A[j, k]
        x[i] = A[i, i]


KERNELS = (below, up_to, above, crossing, shifted, banded, strided, eliminate, factorise)


def innermost(kernel: Callable[..., None]) -> str:
    return "k" if kernel is factorise else "j"


def runs_as_on_the_cpu(s: Schedule, seed: int) -> int | None:
    """Compare a schedule's hardware with the CPU; the cycles predicted are those measured, or None."""
    rng = np.random.default_rng(seed)
    A = rng.integers(-100, 100, (N, N)).astype(np.int32)
    x = rng.integers(-100, 100, N).astype(np.int32)
    expected, got = (A.copy(), x.copy()), (A.copy(), x.copy())
    s.build()(*expected)
    hardware = s.build(target="verilog", simulator="jit")
    hardware(*got)
    assert all(np.array_equal(a, b) for a, b in zip(expected, got, strict=True))
    assert hardware.report.cycles in (None, hardware.cycles)
    return hardware.report.cycles


@pytest.mark.parametrize("factor", [1, 2, 3])
@pytest.mark.parametrize("kernel", KERNELS)
def test_every_triangle_gives_what_the_cpu_gives(kernel: Callable[..., None], factor: int):
    s = allo.customize(kernel)
    if factor > 1:
        s.unroll(innermost(kernel), factor=factor)
    s.pipeline(innermost(kernel))
    assert runs_as_on_the_cpu(s, factor) is not None


@pytest.mark.parametrize("factor", [2, 3])
@pytest.mark.parametrize("kernel", KERNELS)
def test_every_triangle_may_lie_in_banks(kernel: Callable[..., None], factor: int):
    s = allo.customize(kernel)
    s.unroll(innermost(kernel), factor=factor)
    s.pipeline(innermost(kernel))
    s.partition(s.A, partition_type=Partition.Cyclic, dim=2, factor=factor)
    s.partition(s.x, partition_type=Partition.Cyclic, dim=1, factor=factor)
    runs_as_on_the_cpu(s, factor)


def pipeline_of(s: Schedule, depth: int, **options: float):
    """The pipelined loop ``depth`` loops down."""
    loops = s.build(target="verilog", **options).report.functions[-1].loops
    for _ in range(depth):
        loops = loops[0].children
    return loops[0]


def substitute(L: float32[N, N], x: float32[N]):
    for i in range(N):
        for j in range(i):
            x[i] -= L[i, j] * x[j]


def substitute_inclusive(L: float32[N, N], x: float32[N]):
    for i in range(N):
        for j in range(i + 1):
            x[i] -= L[i, j] * x[j]


def test_a_sum_waits_for_itself_and_not_for_the_product_of_what_a_bound_keeps_apart():
    strict, inclusive = allo.customize(substitute), allo.customize(substitute_inclusive)
    strict.pipeline("j")
    inclusive.pipeline("j")
    # At 200 MHz the two ports of x hold the first one up, and not its sum.
    apart, met = (pipeline_of(s, 1, clock_mhz=300.0) for s in (strict, inclusive))
    assert re.search(r"through fadd_f32\w*, latency", apart.limit)
    assert re.search(r"through fmul_f32\w*, fadd_f32\w*, latency", met.limit)
    assert apart.ii < met.ii


def test_a_triangular_row_is_a_pipeline_of_its_own_where_flattening_costs_more():
    def update(A: float32[40, 8], C: float32[40, 40]):
        for i in range(40):
            for k in allo.reduction(8):
                for j in range(i + 1):
                    C[i, j] += A[i, k] * A[j, k]

    s = allo.customize(update)
    s.pipeline("j")
    row = pipeline_of(s, 2)
    assert (row.name.split(".")[-1], row.ii) == ("j", 1)


def test_copies_of_an_unrolled_triangle_know_their_banks():
    def double(C: int32[N, N]):
        for i in range(N):
            for j in range(i + 1):
                C[i, j] = C[i, j] * 2

    s = allo.customize(double)
    s.unroll("j", factor=2)
    s.pipeline("j")
    s.partition(s.C, partition_type=Partition.Cyclic, dim=2, factor=2)
    assert pipeline_of(s, 1).ii == 1
