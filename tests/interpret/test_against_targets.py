"""What the interpreter found in the compiler, on every target."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import allo
from allo.ir.types import Fixed, Int, float32, float64, index, int32, int64

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


@pytest.mark.parametrize("target", TARGETS)
def test_fixed_point_beside_an_index_of_any_size(target: str, tmp_path: Path) -> None:
    """An index counts 32 bits in the tables; its value has 64."""

    def kernel(x: Fixed(8, 3)[6], at: int64[6], less: int32[6], same: int32[6]):
        for i in range(6):
            j: index = at[i]
            less[i] = x[i] < j
            same[i] = j == x[i]
            less[i] += 10 * (x[i] > i)

    x = np.array([0.125, 0.0, -2.0, -2.5, 7.0, 5.5])
    at = np.array([2**33, 2**33, -2, -2, 2**62, -(2**63)])
    wanted = [[11, 1, 0, 1, 11, 10], [0, 0, 1, 0, 0, 0]]
    for run in (allo.interpret(kernel), built(kernel, target, tmp_path)):
        less, same = (np.full(6, 9, np.int32) for _ in range(2))
        run(x, at, less, same)
        assert [less.tolist(), same.tolist()] == wanted


NUMBER = 58
TABLE = np.array([3, 0b110_1010], np.int64)


def test_bits_of_captured_numbers_fill_an_array(tmp_path: Path) -> None:
    def kernel(out: int32[3, 2]):
        part: int32[2] = NUMBER[1:5]
        bit: int32[2] = TABLE[1][3]
        word: int32[2] = TABLE
        for i in range(2):
            out[0, i] = part[i]
            out[1, i] = bit[i]
            out[2, i] = word[i]

    for run in (allo.interpret(kernel), built(kernel, "cpu", tmp_path)):
        out = np.zeros((3, 2), np.int32)
        run(out)
        np.testing.assert_array_equal(out, [[13, 13], [1, 1], [3, 0b110_1010]])
