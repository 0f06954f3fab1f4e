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


def shifted(b: int32[16]) -> int32[4]:
    """Where a condition does not hold, the subscript is out of range: of the register of another element."""
    t: int32[4] = 0
    r: int32[4] = 0
    for j, i in allo.grid(4, 16):
        for k in range(8):
            if k - j >= 0 and k - j < 4:
                t[k - j] += b[i] + k
    for k in range(4):
        r[k] = t[k]
    return r


def counted(b: int32[16]) -> int32[4]:
    """The same with known registers, of which some are none of the array's."""
    t: int32[4] = 0
    r: int32[4] = 0
    for j, i in allo.grid(1, 16):
        for k in range(8):
            if k < (b[i] & 3) + 1:
                t[k] = t[k] * 3 + b[i]
    for k in range(4):
        r[k] = t[k]
    return r


def left_early(b: int32[16]) -> int32[4]:
    """The same in a loop that is left early."""
    t: int32[4] = 0
    r: int32[4] = 0
    for i in range(16):
        if b[i] == 8:
            break
        for k in range(8):
            if k < (b[i] & 3) + 1:
                t[k] += b[i]
    for k in range(4):
        r[k] = t[k]
    return r


@pytest.mark.parametrize("simulator", ["jit", "verilator"])
@pytest.mark.parametrize(
    "kernel", [shifted, counted, left_early], ids=lambda kernel: kernel.__name__
)
def test_a_false_condition_leaves_every_register(kernel: Any, simulator: str) -> None:
    s = allo.customize(kernel)
    s.partition(s.t, dim=1)
    bands = {"left_early": "S_i_0"}
    s.pipeline(s.get_loops()[bands.get(kernel.__name__, "S_j_i_0")]["i"])
    module, reference = s.build(target="verilog", simulator=simulator), s.build()
    for seed in range(3):
        b = np.random.default_rng(seed).integers(-9, 9, 16, dtype=np.int32)
        np.testing.assert_array_equal(module(b), reference(b))
        expected = np.zeros(4, np.int64)
        for j, x in [(j, x) for j in range(4) for x in b] if kernel is shifted else []:
            expected += x + j + np.arange(4)
        if kernel is shifted:
            np.testing.assert_array_equal(module(b), expected)
