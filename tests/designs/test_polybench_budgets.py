"""Schedules for a budget of float units: bits of the CPU, cycles of the report, no more units than asked."""

from __future__ import annotations

import numpy as np
import pytest

from allo.designs.polybench.budgets import NAMES, load
from tests.designs.suites import assert_close, assert_same_bits, call, copies

TOLERANCE = 1e-5
"""Of the largest element: trees add in another order than NumPy."""


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("size", "pairs"), [("tiny", 6), ("mini", 12)])
def test_hardware_gives_the_cpus_bits_on_the_budget(name: str, size: str, pairs: int) -> None:
    kernel = load(name)
    shape = kernel.SIZES[size]
    schedule = kernel.schedule(shape, pairs)
    cpu, hardware = schedule.build(), schedule.build(target="verilog", simulator="jit")
    arrays = kernel.inputs(np.random.default_rng(5), shape)
    expected = call(cpu, copies(arrays))
    assert_close(expected, call(kernel.reference, copies(arrays)), TOLERANCE)
    assert_same_bits(call(hardware, arrays), expected)
    assert hardware.cycles == hardware.report.cycles
    assert hardware.report.float_units <= 2 * pairs


@pytest.mark.parametrize(
    ("name", "pairs", "cycles", "units"),
    [
        ("gemm", 44, 242_532, 88),
        ("atax", 44, 7_924, 82),
        ("bicg", 44, 7_923, 82),
        ("mvt", 44, 8_036, 80),
        ("gesummv", 44, 3_097, 84),
        ("two_mm", 44, 343_804, 88),
        ("three_mm", 44, 543_829, 88),
        ("two_mm", 512, 30_184, 1008),
        ("trmm", 44, 207_997, 48),
        ("jacobi_2d", 44, 1_257_400, 50),
    ],
)
def test_medium_sizes_keep_the_units_busy(name: str, pairs: int, cycles: int, units: int) -> None:
    kernel = load(name)
    size = kernel.SIZES["medium"]
    schedule = kernel.schedule(size, pairs)
    report = schedule.build(target="verilog", clock_mhz=300, device="xcup").report
    assert (report.cycles, report.float_units) == (cycles, units)
    assert kernel.operations(size) / (units * cycles) > 0.95


def test_an_unknown_kernel_is_named() -> None:
    with pytest.raises(KeyError, match="There is no schedule of 'gem'; there are gemm, "):
        load("gem")
