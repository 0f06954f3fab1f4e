"""A build leaves nothing behind in the process."""

from __future__ import annotations

import gc
import subprocess
import sys
import weakref
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import allo
from allo.dialects._mlir import ir
from allo.ir.types import int32

ROOT = Path(__file__).resolve().parents[2]
TARGETS = {
    "cpu": {},
    "csim": {"target": "vhls"},
    "rtl": {"target": "verilog", "simulator": "jit"},
}


def soak(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(ROOT / "scripts" / "soak.py"), *arguments],
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )


@pytest.fixture
def without_collector() -> Iterator[None]:
    """What is in a cycle stays: only what the last reference frees is freed."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


class Large:
    """Something a caller holds while it builds."""


def use(options: dict[str, str]) -> weakref.ref[Large]:
    """Customise, build and call a kernel, with a large local variable."""
    large = Large()

    def kernel(A: int32[8], n: int32) -> int32:
        s: int32 = 0
        for i in range(8):
            s += A[i] * n
        return s

    schedule = allo.customize(kernel)
    schedule.pipeline("i")
    module = schedule.build(**options)
    assert module(np.arange(8, dtype=np.int32), 3) == 84
    return weakref.ref(large)


@pytest.mark.parametrize("target", TARGETS)
def test_contexts_and_the_callers_variables_go_with_the_last_reference(
    target: str, without_collector: None
) -> None:
    use(TARGETS[target])
    before = ir.Context._get_live_count()
    large = use(TARGETS[target])
    assert large() is None
    assert ir.Context._get_live_count() == before


def test_a_context_that_is_kept_is_counted() -> None:
    before = ir.Context._get_live_count()
    kept = ir.Context()
    assert ir.Context._get_live_count() == before + 1
    del kept


def mappings() -> int:
    return Path("/proc/self/maps").read_text().count("allo_csim_")


def test_libraries_of_csim_are_unloaded() -> None:
    gc.collect()
    before = mappings()
    use(TARGETS["csim"])
    assert mappings() == before


@pytest.mark.parametrize(("target", "rounds"), [("cpu", "50"), ("jit", "20")])
def test_memory_in_rounds_of_kernels_that_differ(target: str, rounds: str) -> None:
    done = soak("rounds", "--target", target, "--rounds", rounds, "--limit-mb", "30")
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{target}: " in done.stdout
    assert f"more after {rounds} rounds" in done.stdout


def test_growth_past_the_limit_is_seen() -> None:
    done = soak("rounds", "--target", "cpu", "--rounds", "3", "--limit-mb", "-1000")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "(limit -1000)" in done.stdout


def test_four_threads_for_a_moment() -> None:
    done = soak("threads", "--target", "cpu", "--seconds", "3")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "wrong or failed: 0" in done.stdout
