"""What a pipeline would read again in every iteration it reads once, where ports are short."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import allo
from allo.ir.types import float32, int32

N = 16


def taps(a: int32[N], w: int32[3], y: int32[N]):
    for i in range(N):
        s: int32 = 0
        for k in range(3):
            s += w[k] * (a[i] + k)
        y[i] = s


def rows(a: int32[N, N], w: int32[N, 3], y: int32[N, N]):
    """Other words for every row."""
    for r in range(N):
        for i in range(N):
            s: int32 = 0
            for k in range(3):
                s += w[r, k] * (a[r, i] + k)
            y[r, i] = s


def pivots(a: int32[N, N], w: int32[N, 3], y: int32[N, N]):
    for p in range(N):
        for r in range(N):
            if r != p:
                a[r, 0] -= (w[r, 0] & 1) * (a[p, 0] & 7)


def stored(a: int32[N], w: int32[3], y: int32[N]):
    """A store of the loop may be of what it reads."""
    for i in range(N):
        s: int32 = 0
        for k in range(3):
            s += w[k] * (a[i] + k)
        w[a[i] & 1] = i
        y[i] = s


def behind(a: int32[N], w: int32[3], y: int32[N]):
    """A store comes before the loads of its iteration."""
    for i in range(N):
        w[1] = a[i]
        s: int32 = 0
        for k in range(3):
            s += w[2 - k] * (a[i] + k)
        y[i] = s


def never(a: int32[N], w: int32[3], y: int32[N]):
    """A loop that may have no iteration, under a condition."""
    for i in range(a[0] & 7):
        if a[i] > 0:
            s: int32 = 0
            for k in range(3):
                s += w[k] * (a[i] + k)
            y[i] = s


CASES: dict[str, tuple[Callable[..., Any], str, int]] = {
    "taps": (taps, "i", 1),
    "rows": (rows, "i", 1),
    "pivots": (pivots, "r", 1),
    "stored": (stored, "i", 2),
    "behind": (behind, "i", 1),
    "never": (never, "i", 1),
}


def arguments(kernel: Callable[..., Any], seed: int) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    square = kernel in (rows, pivots)
    shapes = [(N, N), (N, 3), (N, N)] if square else [(N,), (3,), (N,)]
    return [rng.integers(-9, 10, shape).astype(np.int32) for shape in shapes]


@pytest.mark.parametrize("case", CASES)
def test_words_that_stay_are_read_in_front(case: str):
    kernel, loop, interval = CASES[case]
    s = allo.customize(kernel)
    s.pipeline(loop)
    rtl, cpu = s.build(target="verilog", simulator="jit"), s.build()
    for seed in range(3):
        got, want, plain = (arguments(kernel, seed) for _ in range(3))
        rtl(*got)
        cpu(*want)
        kernel(*plain)
        for mine, theirs, python in zip(got, want, plain, strict=True):
            np.testing.assert_array_equal(mine, theirs)
            np.testing.assert_array_equal(mine, python)
        if rtl.report.cycles is not None:
            assert rtl.cycles == rtl.report.cycles
    found = rtl.report.functions[0].loops[-1]
    while found.children:
        found = found.children[-1]
    assert (found.pipelined, found.ii) == (True, interval)


@pytest.mark.parametrize("target", [{"simulator": "verilator"}, {"mode": "csim"}], ids=str)
def test_the_other_builds_agree(target: dict[str, str]):
    s = allo.customize(rows)
    s.pipeline("i")
    name = "vhls" if "mode" in target else "verilog"
    got, want = arguments(rows, 7), arguments(rows, 7)
    s.build(target=name, **target)(*got)
    rows(*want)
    np.testing.assert_array_equal(got[2], want[2])


def test_a_loop_with_ports_enough_reads_where_the_program_does():
    def wide(a: float32[N], w: float32[2], y: float32[N]):
        for i in range(N):
            y[i] = a[i] * w[0] + w[1]

    s = allo.customize(wide)
    s.pipeline("i")
    module = s.build(target="verilog", simulator="jit")
    assert module.report.functions[0].loops[0].ii == 1
    assert "b2_run0" not in module.verilog  # one body: none in front
