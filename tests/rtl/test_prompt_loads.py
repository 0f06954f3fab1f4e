"""Sums in memory on which a loop waits: a load takes what a store writes when its own word is there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import allo
from allo.backend.rtl.plan.placing.forward import Forward
from allo.backend.rtl.plan.search import pipeline
from allo.ir.types import float32, int16
from benchmarks.recurrences import interval
from tests.replay.watcher import Watcher

from .differential import bits

N, BINS = 60, 16


def sums(x: int16[N], y: int16[N], w: float32[N], c: float32[BINS]):
    for i in range(N):
        c[x[i]] += w[i]


def sometimes(x: int16[N], y: int16[N], w: float32[N], c: float32[BINS]):
    for i in range(N):
        if w[i] > 0.0:
            c[x[i]] += w[i]
        else:
            c[y[i]] = w[i]


def elsewhere(x: int16[N], y: int16[N], w: float32[N], c: float32[BINS]):
    for i in range(N):
        c[x[i]] = c[y[i]] + w[i]


def two(x: int16[N], y: int16[N], w: float32[N], c: float32[BINS]):
    for i in range(N):
        c[x[i]] += w[i]
        c[y[i]] -= 0.5


def decided(x: int16[N], y: int16[N], w: float32[N], c: float32[BINS]):
    """What is loaded says where it goes."""
    for i in range(N):
        had: float32 = c[x[i]]
        to: int16 = y[i]
        if had > w[i]:
            to = (y[i] + 1) % BINS
        c[to] = had + w[i]


def judged(x: int16[N], y: int16[N], w: float32[N], c: float32[BINS]):
    """Whether it is stored is known in the last cycle, from the sum."""
    for i in range(N):
        total: float32 = c[x[i]] + w[i]
        if total > 0.0:
            c[x[i]] = total


def built(kernel: Callable[..., Any], factor: int = 1, clock_mhz: int = 100) -> Any:
    s = allo.customize(kernel)
    s.pipeline("i")
    if factor > 1:
        s.partition(s.c, partition_type=1, dim=1, factor=factor)
    return s.build(target="verilog", simulator="jit", device="ecp5", clock_mhz=clock_mhz)


def differs(kernel: Callable[..., Any], module: Any) -> bool:
    """Whether hardware and the CPU build ever leave other elements, of few, so that neighbours meet."""
    reference = allo.customize(kernel).build()
    for seed, bins in enumerate((1, 2, 3, BINS)):
        rng = np.random.default_rng(seed)
        ours = [rng.integers(0, bins, N).astype(np.int16) for _ in range(2)]
        ours += [rng.standard_normal(n).astype(np.float32) for n in (N, BINS)]
        theirs = [a.copy() for a in ours]
        module(*ours)
        reference(*theirs)
        if bits(ours[3]) != bits(theirs[3]):
            return True
        assert module.cycles == module.report.cycles
    return False


@pytest.mark.parametrize(
    ("kernel", "factor", "ii"),
    [
        (sums, 4, 3),
        (sometimes, 1, 3),
        (elsewhere, 4, 3),
        (two, 1, 6),
        (decided, 4, 3),
        (judged, 1, 4),
    ],
)
def test_equal_to_the_cpu(kernel: Callable[..., Any], factor: int, ii: int) -> None:
    module = built(kernel, factor)
    assert interval(module.report, "i").ii == ii
    assert not differs(kernel, module)


def test_a_sum_in_memory_waits_for_its_adder_alone() -> None:
    """The adder takes 3 cycles of 10 ns, which the word of the block RAM adds nothing to."""
    module = built(sums)
    assert interval(module.report, "i").ii == 3
    assert module.report.fmax_mhz >= 100


def test_a_word_that_comes_too_late_for_the_adder_waits_for_the_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As in all cases where it fits no more."""
    monkeypatch.setattr(Forward, "_at_once", lambda *_: 20.0)
    assert interval(built(sums).report, "i").ii == 4


def test_a_word_that_is_not_taken_at_once_is_seen(
    monkeypatch: pytest.MonkeyPatch, watcher: Watcher
) -> None:
    keep = pipeline.keep_bypasses

    def forgets(body: Any) -> None:
        keep(body)
        for node in body.nodes:
            if node.access is not None:
                node.access.prompt_bypass = []

    monkeypatch.setattr(pipeline, "keep_bypasses", forgets)
    assert differs(sums, built(sums))
    assert "c" in watcher.alarms.pop()
    watcher.alarms.clear()
