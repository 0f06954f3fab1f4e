"""What the interpreter found in the compiler, on every target."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import allo
from allo.ir.types import Int, float32, float64, int32

TARGETS: dict[str, dict[str, Any]] = {
    "cpu": {},
    "csim": {"target": "vhls", "mode": "csim"},
    "jit": {"target": "verilog", "simulator": "jit"},
}


def built(kernel: Any, target: str, folder: Path) -> Any:
    options = dict(TARGETS[target])
    if target == "csim":
        options["project"] = str(folder / "project")
    return allo.customize(kernel).build(**options)


@pytest.mark.parametrize("target", TARGETS)
def test_floor_division_of_floats(target: str, tmp_path: Path) -> None:
    def kernel(x: float32[6], y: float32[6], q: float32[6], r: float64[6]):
        for i in range(6):
            q[i] = x[i] // y[i]
            wide: float64 = x[i]
            r[i] = wide // y[i]

    x = np.array([1.0, -7.0, 7.0, -0.0, 3.0, 1e-30], np.float32)
    y = np.array([0.1, 2.0, -2.0, 5.0, 0.0, -4.0], np.float32)
    results = [np.zeros(6, t) for _ in range(2) for t in (np.float32, np.float64)]
    built(kernel, target, tmp_path)(x, y, *results[:2])
    allo.interpret(kernel)(x, y, *results[2:])
    with np.errstate(divide="ignore"):
        np.testing.assert_array_equal(results[0], np.floor(x / y))
    for got, wanted in zip(results[:2], results[2:], strict=True):
        np.testing.assert_array_equal(got, wanted)
        np.testing.assert_array_equal(np.signbit(got), np.signbit(wanted))


@pytest.mark.parametrize("target", TARGETS)
def test_the_smaller_of_two_single_bits(target: str, tmp_path: Path) -> None:
    def kernel(x: Int(1)[4], y: Int(1)[4], low: int32[4], high: int32[4], less: int32[4]):
        for i in range(4):
            low[i] = min(x[i], y[i])
            high[i] = max(x[i], y[i])
            less[i] = x[i] < y[i]

    x, y = np.array([0, 0, 1, 1], np.int8), np.array([0, 1, 0, 1], np.int8)
    for run in (allo.interpret(kernel), built(kernel, target, tmp_path)):
        low, high, less = (np.full(4, 9, np.int32) for _ in range(3))
        run(x, y, low, high, less)
        assert (low.tolist(), high.tolist(), less.tolist()) == (
            [0, 0, 0, 1],
            [0, 1, 1, 1],
            [0, 1, 0, 0],
        )
