"""Conditional updates of arrays whose banks are single registers: one cycle an iteration, as with scalars."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import allo
from allo.ir.types import int32

from .test_gemm import loop_called

WORDS = 48


def known(c: int32[48], x: int32[48], y: int32[8]):
    """Every bank is known after unrolling."""
    for i in range(48):
        for k in range(8):
            if x[i] > k:
                y[k] += x[i]


def unknown(c: int32[48], x: int32[48], y: int32[8]):
    """The bank is data: what one iteration leaves there the next may add to."""
    for i in range(48):
        if x[i] > 0:
            y[c[i] & 7] += x[i]


def either(c: int32[48], x: int32[48], y: int32[8]):
    for i in range(48):
        if x[i] > 2:
            y[c[i] & 7] += x[i]
        elif x[i] > -2:
            y[x[i] & 7] = c[i]
        else:
            y[7] -= 1


def twice(c: int32[48], x: int32[48], y: int32[8]):
    """The second of an iteration may add to what the first one leaves."""
    t: int32[8] = 0
    for i in range(48):
        t[c[i] & 7] += x[i]
        if x[i] > 0:
            t[x[i] & 7] += 1
    for k in range(8):
        y[k] = t[k]


def local(c: int32[48], x: int32[48], y: int32[8]):
    t: int32[8] = 0
    for i in range(48):
        if x[i] > 0:
            t[c[i] & 7] += x[i]
    for k in range(8):
        y[k] = t[k]


def _reference(kernel: Any, c: np.ndarray, x: np.ndarray, y: np.ndarray) -> None:
    """The kernel in NumPy; a local array that starts at 0 is none of Python's."""
    if kernel is known or kernel is unknown or kernel is either:
        kernel(c, x, y)
        return
    y[:] = 0
    if kernel is local:
        unknown(c, x, y)
        return
    for a, b in zip(c, x, strict=True):
        y[a & 7] += b
        y[b & 7] += b > 0


KERNELS = (known, unknown, either, twice, local)
CYCLES = {"known": 49, "unknown": 50, "either": 50, "twice": 106, "local": 58}


@pytest.mark.parametrize("simulator", ["jit", "verilator"])
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.__name__)
def test_updates_of_registers(kernel: Any, simulator: str) -> None:
    s = allo.customize(kernel)
    s.pipeline("i")
    s.partition(f"{kernel.__name__}:t" if kernel in (local, twice) else s.y, dim=1)
    module = s.build(target="verilog", simulator=simulator)
    for seed in range(3):
        rng = np.random.default_rng(seed)
        c, x, y = (rng.integers(-9, 10, n, dtype=np.int32) for n in (WORDS, WORDS, 8))
        expected = y.copy()
        _reference(kernel, c, x, expected)
        module(c, x, y)
        np.testing.assert_array_equal(y, expected)
        assert (module.cycles, module.report.cycles) == (CYCLES[kernel.__name__],) * 2
    loop = loop_called(module.report, "i")
    if kernel is twice:
        assert loop.limit.startswith("II=2: t line 49 -> line 47 (test_register_banks.py:49:")
        return
    assert (loop.ii, loop.limit) == (1, "")
