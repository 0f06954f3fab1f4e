"""Schedules for a budget of float units: bits of the CPU, cycles of the report, no more units than asked."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from allo.designs.polybench.budgets import NAMES, load, most_pairs
from allo.designs.polybench.budgets.tiles import product_tiles
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
        ("gemm", 44, 243_039, 88),
        ("atax", 44, 7_924, 82),
        ("bicg", 44, 7_923, 82),
        ("mvt", 44, 8_036, 80),
        ("gesummv", 44, 3_097, 84),
        ("two_mm", 44, 344_673, 88),
        ("three_mm", 44, 543_829, 88),
        ("two_mm", 512, 30_238, 1024),
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


@pytest.mark.parametrize(
    ("name", "dsps", "cycles"),
    [
        ("gemm", 220, 97_239),
        ("syr2k", 220, 260_354),
        ("mvt", 2560, 307),
        ("jacobi_2d", 2560, 57_200),
    ],
)
def test_a_budget_of_dsps_holds_more_pairs(name: str, dsps: int, cycles: int) -> None:
    kernel = load(name)
    schedule = kernel.schedule(kernel.SIZES["medium"], most_pairs(name, dsps))
    report = schedule.estimate(clock_mhz=300, device="xcup")
    assert report.cycles == cycles
    assert report.resources["dsp"] <= dsps


@pytest.mark.parametrize(("name", "cycles"), [("gemm", 7_086), ("two_mm", 11_128)])
def test_a_full_device_takes_fewer_cycles_than_published(name: str, cycles: int) -> None:
    kernel = load(name)
    pairs = {"gemm": 1540, "two_mm": 1400}[name]
    report = kernel.schedule(kernel.SIZES["medium"], pairs).estimate(clock_mhz=300, device="xcup")
    assert report.cycles == cycles
    assert report.resources["lut"] <= 1_303_680 and report.resources["bram"] <= 4_032


def test_two_terms_at_once_take_half_as_many_elements() -> None:
    assert product_tiles(1540, 200, 220, 240) == (2, 7, 110)
    assert product_tiles(1540, 200, 220, 240, depths=(1,)) == (1, 67, 22)
    assert product_tiles(1540, 200, 220, 241)[0] == 1


@pytest.mark.parametrize("find", [load, lambda name: most_pairs(name, 220)], ids=["load", "pairs"])
def test_an_unknown_kernel_is_named(find: Callable[[str], object]) -> None:
    with pytest.raises(KeyError, match="There is no schedule of 'gem'; there are gemm, "):
        find("gem")
