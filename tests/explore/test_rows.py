"""Rows of matrices in external memory: whole ones, by tasks at the same time, at the least interval."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from allo.designs.polybench.kernels import load, plain
from allo.explore.apply import Step, accepted, apply
from allo.explore.beyond.hoist import hoisted
from allo.explore.beyond.rows import (
    SHARED,
    blocks_of,
    least_interval,
    steps_of_factors,
    steps_of_rows,
    try_rows,
    ways_of_tasks,
)
from allo.explore.budget import Asked, Built
from allo.explore.model.kernel import Kernel
from allo.explore.model.read import read_kernel
from allo.explore.model.rows import Limits
from allo.explore.model.units import Units
from allo.explore.solve import Choice
from allo.schedule import Schedule

SIZE, MOST, SECONDS = (12,), 16, 99.0
OPTIONS = {"interface": "m_axi"}


@dataclass
class Estimated:
    """A search that only makes reports."""

    given: Schedule
    kernel: Kernel
    asked: Asked
    good: list[Built] = field(default_factory=list)
    seen: set[str] = field(default_factory=set)
    elapsed: float = 0.0
    intervals: list[int] = field(default_factory=list)
    most: list[float | None] = field(default_factory=list)
    kept: list[Built] = field(default_factory=list)

    @property
    def units(self) -> Units:
        return Units(self.asked.device, self.asked.clock_mhz, "keep")

    def keep(
        self, steps: list[Step], choice: Choice | None, made: Schedule, most: float | None = None
    ) -> Built | None:
        told = [
            dict(s.options).get("initiation_interval", 1)
            for s in steps
            if s.primitive == "pipeline"
        ]
        self.intervals.append(max(told))
        self.most.append(most)
        self.kept.append(
            Built(made, made.estimate(warnings=False, clock_mhz=300), steps, choice, None)
        )
        return self.kept[-1]


def search(options: dict[str, str], most: int = MOST) -> Estimated:
    given = plain("gesummv", SIZE)
    asked = Asked("xcup", 300.0, Limits(most, None, None), "cycles", SECONDS, True, None, options)
    return Estimated(given, read_kernel(given), asked)


def test_the_least_interval_that_fits_is_found_and_only_for_arrays_outside() -> None:
    found = search(OPTIONS, most=18)
    try_rows(found)
    # Three cycles a row take more multiplier blocks than there are; four have enough.
    assert found.intervals[:2] == [3, 4]
    assert [built.report.resources["dsp"] for built in found.kept[:2]] == [20, 16]
    assert set(found.most) == {SECONDS / 2}, "one report takes half of what is left, at most"
    inside = search({})
    try_rows(inside)
    assert inside.intervals == []


def test_both_products_of_gesummv_pass_a_row_at_the_same_time() -> None:
    s = plain("gesummv", SIZE)
    kernel = read_kernel(s)
    steps = steps_of_rows(kernel, next(hoisted(kernel)), 3, trees=True, dataflow=True)
    apply(s, steps)
    mod = s.build(target="verilog", simulator="jit", clock_mhz=300, configs={"interface": "m_axi"})
    ours, expected = (load("gesummv").inputs(np.random.default_rng(0), SIZE) for _ in range(2))
    mod(*ours)
    s.build()(*expected)
    assert ours[3].tobytes() == expected[3].tobytes()
    passing = {each.array: each.loop for each in mod.foretold.passing}
    assert passing["A"] and passing["B"] and passing["y"]
    rows, latency = 3 * SIZE[0], 50
    assert mod.foretold.core <= rows + latency
    assert abs(mod.cycles - mod.foretold.cycles) < 8


def test_one_interval_is_that_of_the_nest_with_the_most_units() -> None:
    kernel = read_kernel(plain("gesummv", SIZE))
    steps = steps_of_rows(kernel, next(hoisted(kernel)), 6, trees=False, dataflow=False)
    told = [dict(s.options) for s in steps if s.primitive == "pipeline"]
    assert told == [{"initiation_interval": 6}, {"initiation_interval": 6}, {}]
    assert {s.primitive for s in steps} == {"pipeline", "partition"}


def test_tasks_at_the_same_time_have_units_of_their_own() -> None:
    assert least_interval(16, [48, 32, 4], dataflow=False) == 3
    assert least_interval(16, [48, 32, 4], dataflow=True) == 6
    assert least_interval(None, [48], dataflow=True) == 1


def test_tasks_that_wait_for_all_of_others_are_tried_one_after_the_other_first() -> None:
    """The third product of three_mm waits for both others; the products of bicg and gesummv do not."""
    units = Units("xcup", 300.0, "keep")
    found = {}
    for name, size, limit in (
        ("three_mm", (16, 18, 20, 22, 24), 176),
        ("gesummv", SIZE, MOST),
        ("gemm", (4, 6, 5), MOST),
    ):
        kernel = read_kernel(plain(name, size))
        found[name] = ways_of_tasks(kernel, units, next(hoisted(kernel, SHARED)), limit)
    assert found == {"three_mm": [False, True], "gesummv": [True, False], "gemm": [False]}


def test_iterations_of_a_row_share_the_multipliers_of_a_product_of_matrices() -> None:
    """gemm of 4 × 6 × 5: 30 products, 5 of beta, and 6 of alpha that all columns share, of 2 blocks each."""
    s = plain("gemm", (4, 6, 5))
    kernel = read_kernel(s)
    loops = next(hoisted(kernel, SHARED))
    (number, place), *_ = loops.items()
    assert blocks_of(kernel, Units("xcup", 300.0, "keep"), number, place) == 2 * (30 + 5 + 6)
    steps = steps_of_rows(kernel, loops, 4, trees=True, dataflow=False)
    assert [s.primitive for s in steps if s.primitive != "partition"] == [
        "reorder",
        "pipeline",
        "rebalance",
    ]
    apply(s, steps)
    mod = s.build(target="verilog", simulator="jit", clock_mhz=300, configs={"interface": "m_axi"})
    assert mod.report.resources["dsp"] <= 2 * -(-(30 + 5 + 6) // 4)
    ours, theirs = (load("gemm").inputs(np.random.default_rng(0), (4, 6, 5)) for _ in range(2))
    mod(*ours)
    load("gemm").reference(*theirs)
    np.testing.assert_allclose(ours[2], theirs[2], rtol=1e-4)


def test_factors_that_a_row_shares_are_multiplied_first() -> None:
    """Of syr2k alpha times a row's elements, in place of two products more for each pair of elements."""
    given = plain("syr2k", (20, 30))
    kernel = read_kernel(given)
    trial, kept = accepted(given, steps_of_factors(kernel))
    assert [step.arguments[0].loop_name for step in kept] == ["j"]
    units = Units("xcup", 300.0, "keep")
    (number,) = {step.nest for step in kept}
    before, after = (
        blocks_of(each, units, number or 0, 0) for each in (kernel, read_kernel(trial))
    )
    assert (before, after) == (2 * 4 * 20 * 30, 2 * (2 * 20 * 30 + 2 * 20))
