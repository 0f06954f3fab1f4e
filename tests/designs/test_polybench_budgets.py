"""Schedules for a budget of float units: bits of the CPU, cycles of the report, no more units than asked."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from allo.designs.polybench.budgets import NAMES, load, most_pairs
from allo.designs.polybench.budgets.tiles.dots import dot_tiles, swept_columns
from allo.designs.polybench.budgets.tiles.products import (
    OF_ELEMENT,
    OF_PAIR,
    TABLES,
    product_tiles,
    rows_above,
)
from benchmarks.polybench_bounds import bound
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
        ("gemm", 44, 243_036, 88),
        ("atax", 44, 7_915, 82),
        ("bicg", 44, 7_915, 82),
        ("mvt", 44, 8_032, 80),
        ("gesummv", 44, 2_937, 88),
        ("two_mm", 44, 344_667, 88),
        ("three_mm", 44, 543_344, 88),
        ("two_mm", 512, 30_258, 1000),
        ("symm", 44, 223_336, 88),
        ("trmm", 44, 111_684, 88),
        ("syrk", 44, 144_679, 82),
        ("syr2k", 44, 289_284, 82),
        ("jacobi_2d", 44, 1_256_400, 50),
    ],
)
def test_medium_sizes_keep_the_units_busy(name: str, pairs: int, cycles: int, units: int) -> None:
    kernel = load(name)
    size = kernel.SIZES["medium"]
    schedule = kernel.schedule(size, pairs)
    report = schedule.build(target="verilog", clock_mhz=300, device="xcup").report
    assert (report.cycles, report.float_units) == (cycles, units)
    utilisation = kernel.operations(size) / (units * cycles)
    assert 0.95 < utilisation <= bound(name, size, units, kernel.operations(size)).utilisation


@pytest.mark.parametrize(
    ("name", "dsps", "cycles"),
    [
        ("gemm", 220, 97_236),
        ("correlation", 220, 75_250),
        ("syr2k", 220, 115_762),
        ("trmm", 216, 46_165),
        pytest.param("trmm", 2560, 4_166, marks=pytest.mark.slow),
        ("mvt", 2560, 300),
        ("bicg", 2560, 336),
        ("gesummv", 200, 1_295),
        ("gesummv", 2560, 165),
        ("jacobi_2d", 2560, 56_400),
    ],
)
def test_a_budget_of_dsps_holds_more_pairs(name: str, dsps: int, cycles: int) -> None:
    kernel = load(name)
    schedule = kernel.schedule(kernel.SIZES["medium"], most_pairs(name, dsps))
    report = schedule.estimate(clock_mhz=300, device="xcup")
    assert report.cycles == cycles
    assert report.resources["dsp"] <= dsps


@pytest.mark.parametrize(
    ("name", "pairs", "cycles"),
    [
        ("gemm", 1760, 6_192),
        ("three_mm", 1760, 13_637),
        ("syrk", 1830, 3_314),
        pytest.param("two_mm", 1800, 8_511, marks=pytest.mark.slow),
        pytest.param("trmm", 1660, 3_497, marks=pytest.mark.slow),
    ],
)
def test_a_full_device_takes_fewer_cycles_than_published(
    name: str, pairs: int, cycles: int
) -> None:
    kernel = load(name)
    report = kernel.schedule(kernel.SIZES["medium"], pairs).estimate(clock_mhz=300, device="xcup")
    assert report.cycles == cycles
    assert report.resources["lut"] <= 1_303_680 and report.resources.get("bram", 0) <= 4_032


@pytest.mark.parametrize(
    ("size", "pairs", "tile", "cycles"),
    [((20, 6), 18, (3, 6), 138), ((26, 6), 36, (6, 6), 121), ((50, 12), 60, (12, 5), 326)],
    ids=["pieces", "forwarded", "rows"],
)
def test_groups_of_rows_follow_each_other_at_once(
    size: tuple[int, int], pairs: int, tile: tuple[int, int], cycles: int
) -> None:
    """Of 25 rows in groups of 6, the last but one meets 7: its elements take more 7 cycles later."""
    kernel = load("trmm")
    assert rows_above(pairs, *size) == tile
    schedule = kernel.schedule(size, pairs)
    hardware = schedule.build(target="verilog", simulator="jit", clock_mhz=300, device="xcup")
    arrays = kernel.inputs(np.random.default_rng(1), size)
    expected = call(schedule.build(), copies(arrays))
    assert_close(expected, call(kernel.reference, copies(arrays)), TOLERANCE)
    assert_same_bits(call(hardware, arrays), expected)
    assert hardware.cycles == hardware.report.cycles == cycles


@pytest.mark.parametrize(
    ("name", "units", "operations", "allowed", "reason"),
    [
        ("mvt", 2560, 640_000, 640_000 / (2560 * (250 + 2 + 7 + 6 * 5)), "f"),
        ("symm", 2560, 19_344_000, 19_344_000 / (2560 * (7500 + 15 + 75 + 9)), ""),
    ],
)
def test_a_size_allows_what_phases_and_latencies_leave(
    name: str, units: int, operations: int, allowed: float, reason: str
) -> None:
    found = bound(name, load(name).SIZES["medium"], units, operations)
    assert (found.utilisation, found.reason) == (pytest.approx(allowed), reason)


def test_two_terms_at_once_take_half_as_many_elements() -> None:
    assert product_tiles(1540, 200, 220, 240) == (2, 7, 110)
    assert product_tiles(1540, 200, 220, 240, depths=(1,)) == (1, 67, 22)
    assert product_tiles(1540, 200, 220, 241)[0] == 1


def test_a_product_takes_no_more_at_once_than_a_device_has_tables_for() -> None:
    terms, rows, columns = product_tiles(4000, 200, 220, 240)
    assert rows * columns * (OF_PAIR * terms + OF_ELEMENT) <= TABLES
    assert terms > 2, "of many terms there are fewer elements, and more fit"


@pytest.mark.parametrize(
    ("pairs", "terms", "tile"),
    [(101, 202, (1, 1, 2)), (1280, 260, (2, 2, 1)), (1650, 202, (2, 4, 1)), (6, 100, (1, 1, 17))],
    ids=["shared", "square", "wide", "few"],
)
def test_dot_products_at_once_use_each_pair_once_in_an_interval(
    pairs: int, terms: int, tile: tuple[int, int, int]
) -> None:
    down, across, interval = dot_tiles(pairs, 240, terms)
    assert (down, across, interval) == tile
    assert down * across * terms <= pairs * interval


def test_columns_that_are_swept_at_once_leave_tables_for_the_products() -> None:
    assert swept_columns(4, 240, 260, 1040) == 4
    assert swept_columns(6, 240, 260, 1560) == 2
    assert swept_columns(6, 5, 7, 1560) == 3


@pytest.mark.parametrize("find", [load, lambda name: most_pairs(name, 220)], ids=["load", "pairs"])
def test_an_unknown_kernel_is_named(find: Callable[[str], object]) -> None:
    with pytest.raises(KeyError, match="There is no schedule of 'gem'; there are gemm, "):
        find("gem")
