"""Scalars on which the next address waits: a load takes what a store computes in the same cycle."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import allo
from allo.backend.rtl.plan.placing.forward import Forward
from allo.backend.rtl.plan.search import pipeline
from allo.ir.types import int32
from benchmarks.recurrences import interval
from tests.replay.watcher import Watcher

N, WORDS, LOOKED = 64, 1024, 16


def search(A: int32[WORDS], x: int32[N], found: int32[N], state: int32[4]):
    """The table is a block RAM of the design, so that the estimated clock has the paths through it."""
    table: int32[WORDS]
    for i in range(WORDS):
        table[i] = A[i]
    for q in range(LOOKED):
        low: int32 = 0
        for k in range(10):
            step: int32 = 512 >> k
            if table[low + step] <= x[q]:
                low = low + step
        found[q] = low


def chase(A: int32[WORDS], x: int32[N], found: int32[N], state: int32[4]):
    at: int32 = 1
    seen: int32 = 0
    for k in range(N):
        following: int32 = A[at] & 1023
        if following > x[k]:
            at = following
        else:
            seen = seen + following
            if seen > 3000:
                seen = 0
        found[k] = at
    state[0] = at
    state[1] = seen


def until(A: int32[WORDS], x: int32[N], found: int32[N], state: int32[4]):
    at: int32 = 5
    for k in range(N):
        found[k] = at
        if A[at] & 255 == 7:
            break
        at = (at + A[at]) & 1023
    state[2] = at


def follow(A: int32[WORDS], x: int32[N], found: int32[N], state: int32[4]):
    at: int32 = 1
    for k in range(N):
        at = A[at] & 1023
        found[k] = at


KERNELS = (search, chase, until, follow)


def built(kernel: Callable[..., Any], clock_mhz: int = 100) -> Any:
    s = allo.customize(kernel)
    for _, band in s.get_loops(kernel.__name__):
        s.pipeline([loop for _, loop in band][-1])
    return s.build(target="verilog", simulator="jit", device="ecp5", clock_mhz=clock_mhz)


def differs(kernel: Callable[..., Any], module: Any) -> bool:
    """Whether hardware and the CPU build ever leave other elements."""
    reference = allo.customize(kernel).build()
    for seed in range(4):
        rng = np.random.default_rng(seed)
        words = np.sort(rng.integers(0, 900, WORDS)).astype(np.int32)
        if kernel is not search:
            rng.shuffle(words)
        ours = [words, rng.integers(-100, 900, N).astype(np.int32)]
        ours += [np.zeros(N, np.int32), np.zeros(4, np.int32)]
        theirs = [a.copy() for a in ours]
        module(*ours)
        reference(*theirs)
        if any(a.tobytes() != b.tobytes() for a, b in zip(ours, theirs, strict=True)):
            return True
        if module.report.cycles is not None:
            assert module.cycles == module.report.cycles
    return False


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.__name__)
def test_equal_to_the_cpu(kernel: Callable[..., Any]) -> None:
    assert not differs(kernel, built(kernel))


def test_an_address_does_not_wait_for_its_register() -> None:
    """The word of a block RAM, a comparison, a sum and the next address: 2 cycles of 10 ns."""
    module = built(search)
    assert interval(module.report, "k").ii == 2
    assert module.report.fmax_mhz >= 100


def test_what_comes_too_late_for_the_address_waits_for_its_register() -> None:
    module = built(search, 120)
    assert interval(module.report, "k").ii == 3
    assert module.report.fmax_mhz >= 120


def test_a_value_on_its_way_that_counts_as_early_costs_the_clock(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The fault that the test above would see."""
    monkeypatch.setattr(Forward, "_on_its_way", lambda *_: 0.0)
    module = built(search, 120)
    assert interval(module.report, "k").ii == 2
    assert module.report.fmax_mhz < 120


def test_a_value_on_its_way_that_is_not_taken_is_seen(
    monkeypatch: pytest.MonkeyPatch, watcher: Watcher
) -> None:
    monkeypatch.setattr(pipeline, "keep_bypasses", lambda _: None)
    assert differs(chase, built(chase))
    assert "found" in watcher.alarms.pop()
    watcher.alarms.clear()


def test_an_exact_schedule_says_why_it_searches_no_such_loop() -> None:
    s = allo.customize(follow)
    s.pipeline("k")
    module = s.build(
        target="verilog", simulator="jit", device="ecp5", clock_mhz=100, effort="exact"
    )
    assert interval(module.report, "k").ii == 1
    assert "it takes values on their way to registers" in " ".join(module.report.notes)
