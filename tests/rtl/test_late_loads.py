"""Slow memories: a register behind the output, and stores of two cycles that a load takes on its way."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import allo
from allo.ir.types import int16, int32

from .differential import bits

N, BINS = 200, 16


def counts(x: int16[N], y: int16[N], w: int32[N], c: int32[BINS]):
    for i in range(N):
        c[x[i]] += w[i]


def sometimes(x: int16[N], y: int16[N], w: int32[N], c: int32[BINS]):
    for i in range(N):
        if w[i] > 0:
            c[x[i]] = c[x[i]] ^ w[i]
        else:
            c[y[i]] = w[i]


def elsewhere(x: int16[N], y: int16[N], w: int32[N], c: int32[BINS]):
    for i in range(N):
        c[x[i]] = c[y[i]] + w[i]


def two(x: int16[N], y: int16[N], w: int32[N], c: int32[BINS]):
    for i in range(N):
        c[x[i]] += w[i]
        c[y[i]] -= 5


def inside(x: int16[N], y: int16[N], w: int32[N], c: int32[BINS]):
    t: int32[1024]
    for k in range(1024):
        t[k] = k
    for i in range(N):
        t[(x[i] << 4) + 3] += w[i]
    for b in range(BINS):
        c[b] = t[(b << 4) + 3]


def near(x: int16[N], y: int16[N], w: int32[N], c: int32[BINS]):
    t: int32[1024]
    for k in range(1024):
        t[k] = k
    for i in range(N):
        t[i + 2] = t[i + 1] + t[i] + w[i]
    for b in range(BINS):
        c[b] = t[N - b]


def until(x: int16[N], y: int16[N], w: int32[N], c: int32[BINS]):
    for i in range(N):
        if w[i] == 77:
            break
        c[x[i]] += w[i]


KERNELS = (counts, sometimes, elsewhere, two, inside, near, until)


def arguments(seed: int, bins: int) -> list[np.ndarray]:
    """Few different places, so that neighbouring iterations often meet."""
    rng = np.random.default_rng(seed)
    x, y = (rng.integers(0, bins, N).astype(np.int16) for _ in range(2))
    w = rng.integers(-100, 100, N).astype(np.int32)
    w[:150][w[:150] == 77] = 0
    return [x, y, w, rng.integers(-1000, 1000, BINS).astype(np.int32)]


def schedule(kernel: Callable[..., Any], factor: int = 1) -> Any:
    s = allo.customize(kernel)
    for _, band in s.get_loops(kernel.__name__):
        for _, loop in band:
            s.pipeline(loop)
    if factor > 1:
        s.partition(s.c, partition_type=1, dim=1, factor=factor)
    return s


def check(s: Any, **options: Any) -> Any:
    module, reference = s.build(target="verilog", **options), s.build()
    for seed, bins in enumerate((1, 2, 3, BINS)):
        ours = arguments(seed, bins)
        theirs = [a.copy() for a in ours]
        module(*ours)
        reference(*theirs)
        assert bits(ours[3]) == bits(theirs[3]), (seed, ours[3], theirs[3])
        if module.report.cycles is not None:
            assert module.cycles == module.report.cycles
    return module


@pytest.mark.parametrize("factor", [1, 4])
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.__name__)
def test_equal_to_the_cpu(kernel: Callable[..., Any], factor: int) -> None:
    for clock in (85, 100, 115):
        check(schedule(kernel, factor), simulator="jit", device="ecp5", clock_mhz=clock)


@pytest.mark.parametrize("kernel", [counts, sometimes, near], ids=lambda k: k.__name__)
def test_equal_to_the_cpu_in_verilator(kernel: Callable[..., Any]) -> None:
    check(schedule(kernel, 2), simulator="verilator", device="ecp5", clock_mhz=100)


def test_a_slow_memory_costs_a_stage_and_no_interval() -> None:
    """Memory, a choice and 32 bits of carry are over 10 ns; at 140 MHz the sum has a cycle of its own."""
    loops = [
        s.report.functions[-1].loops[-1]
        for s in (
            schedule(counts).build(target="verilog", simulator="jit", device="ecp5", clock_mhz=c)
            for c in (60, 100, 140)
        )
    ]
    assert [(loop.ii, loop.depth) for loop in loops] == [(1, 3), (1, 4), (1, 5)]


def test_a_clock_too_fast_for_the_memory_costs_an_interval() -> None:
    module = check(schedule(counts), simulator="jit", device="ecp5", clock_mhz=150)
    loop = module.report.functions[-1].loops[-1]
    assert loop.ii == 3
    where = "c line 21 -> line 21 (test_late_loads.py:21:9)"
    assert loop.limit.startswith(
        f"II=3: {where} through add_i33, latency 3, distance 1; `s.dependence`"
    )
