"""Schedules for a budget of float units: bits of the CPU, cycles of the report, no more units than asked."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pytest

from benchmarks.polybench_bounds import CLOCK, LOWER, asked_mhz, bound, latencies
from tests.designs.by_hand import NAMES, load, most_pairs
from tests.designs.by_hand.tiles.dots import dot_tiles, swept_columns
from tests.designs.by_hand.tiles.products import (
    OF_ELEMENT,
    OF_PAIR,
    TABLES,
    product_tiles,
    rows_above,
)
from tests.designs.suites import assert_close, assert_same_bits, call, copies
from tests.figures_plugin import Held

TOLERANCE = 1e-5
"""Of the largest element: trees add in another order than NumPy."""
FEWER_PAIRS = {("gesummv", 220): 100, ("trmm", 220): 108}
"""Pairs with which a design is shown where it is not the most that the DSPs make."""


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
    ("name", "pairs"),
    [
        ("gemm", 44),
        ("atax", 44),
        ("bicg", 44),
        ("mvt", 44),
        ("gesummv", 44),
        ("two_mm", 44),
        ("three_mm", 44),
        ("two_mm", 512),
        ("symm", 44),
        ("trmm", 44),
        ("syrk", 44),
        ("syr2k", 44),
        ("jacobi_2d", 44),
    ],
)
def test_medium_sizes_keep_the_units_busy(name: str, pairs: int, figures: Held) -> None:
    kernel = load(name)
    size = kernel.SIZES["medium"]
    schedule = kernel.schedule(size, pairs)
    report = schedule.build(target="verilog", clock_mhz=LOWER, device="xcup").report
    figures.hold(f"polybench.{name}.pairs_{pairs}.cycles", report.cycles)
    figures.hold(f"polybench.{name}.pairs_{pairs}.units", report.float_units)
    utilisation = kernel.operations(size) / (report.float_units * report.cycles)
    limit = bound(name, size, report.float_units, kernel.operations(size), LOWER)
    assert 0.95 < utilisation <= limit.utilisation


@pytest.mark.parametrize(
    ("name", "dsps"),
    [
        ("gemm", 220),
        ("correlation", 220),
        ("syr2k", 220),
        ("trmm", 220),
        pytest.param("trmm", 2560, marks=pytest.mark.slow),
        ("mvt", 2560),
        ("bicg", 2560),
        ("gesummv", 220),
        ("gesummv", 2560),
        ("jacobi_2d", 2560),
    ],
)
def test_a_budget_of_dsps_holds_more_pairs(name: str, dsps: int, figures: Held) -> None:
    kernel = load(name)
    most = FEWER_PAIRS.get((name, dsps), most_pairs(name, dsps))
    schedule = kernel.schedule(kernel.SIZES["medium"], most)
    report = schedule.estimate(clock_mhz=asked_mhz(name, dsps), device="xcup", subnormals="flush")
    figures.hold(f"polybench.{name}.dsp_{dsps}.cycles", report.cycles)
    assert report.resources["dsp"] <= dsps


@pytest.mark.parametrize(
    ("name", "pairs"),
    [
        ("gemm", 4512),
        ("three_mm", 1760),
        ("syrk", 4512),
        pytest.param("two_mm", 4512, marks=pytest.mark.slow),
        pytest.param("trmm", 1660, marks=pytest.mark.slow),
    ],
)
def test_a_full_device_takes_fewer_cycles_than_published(
    name: str, pairs: int, figures: Held
) -> None:
    kernel = load(name)
    schedule = kernel.schedule(kernel.SIZES["medium"], pairs)
    report = schedule.estimate(clock_mhz=asked_mhz(name, 9024), device="xcup", subnormals="flush")
    figures.hold(f"polybench.{name}.dsp_9024.cycles", report.cycles)
    assert report.resources["lut"] <= 1_303_680 and report.resources.get("bram", 0) <= 4_032


@pytest.mark.parametrize(
    ("size", "pairs", "tile", "meets"),
    [
        ((20, 6), 18, (3, 6), "pieces"),
        ((26, 6), 36, (6, 6), "forwarded"),
        ((50, 12), 60, (12, 5), "rows"),
    ],
    ids=["pieces", "forwarded", "rows"],
)
def test_groups_of_rows_follow_each_other_at_once(
    size: tuple[int, int], pairs: int, tile: tuple[int, int], meets: str, figures: Held
) -> None:
    """Of 25 rows in groups of 6, the last but one meets 7: its elements take more 7 cycles later."""
    kernel = load("trmm")
    assert rows_above(pairs, *size) == tile
    schedule = kernel.schedule(size, pairs)
    hardware = schedule.build(target="verilog", simulator="jit", clock_mhz=LOWER, device="xcup")
    arrays = kernel.inputs(np.random.default_rng(1), size)
    expected = call(schedule.build(), copies(arrays))
    assert_close(expected, call(kernel.reference, copies(arrays)), TOLERANCE)
    assert_same_bits(call(hardware, arrays), expected)
    figures.hold(f"polybench.trmm.{meets}.cycles", hardware.cycles, report=hardware.report.cycles)


def cycles_of_mvt() -> float:
    """Two sums of 250 elements to each output."""
    unit = latencies(CLOCK)
    return 250 + 2 + unit.multiplier + unit.adder * 5


def cycles_of_symm() -> float:
    """Two phases of products, and a sum of both."""
    unit = latencies(CLOCK)
    return 7500 + 75 + 2 * (2 + unit.multiplier) + unit.adder


@pytest.mark.parametrize(
    ("name", "operations", "cycles", "reason"),
    [("mvt", 640_000, cycles_of_mvt, "f"), ("symm", 19_344_000, cycles_of_symm, "")],
    ids=["mvt", "symm"],
)
def test_a_size_allows_what_phases_and_latencies_leave(
    name: str, operations: int, cycles: Callable[[], float], reason: str
) -> None:
    found = bound(name, load(name).SIZES["medium"], 2560, operations)
    allowed = operations / (2560 * cycles())
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


def test_no_subscript_is_taken_from_zero() -> None:
    """trmm reads rows from the last one up: of each constant less a row, the constant comes first."""
    kernel = load("trmm")
    text = str(kernel.schedule(kernel.SIZES["mini"], 6).build(target="verilog", device="xcup"))
    taken = re.findall(r"\d+'h(\w+) - ", text)
    assert "B4" in taken and "0" not in taken


@pytest.mark.parametrize("find", [load, lambda name: most_pairs(name, 220)], ids=["load", "pairs"])
def test_an_unknown_kernel_is_named(find: Callable[[str], object]) -> None:
    with pytest.raises(KeyError, match="There is no schedule of 'gem'; there are gemm, "):
        find("gem")
