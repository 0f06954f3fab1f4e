"""Columns of a triangle as iterations, and the nests of several functions in one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from allo.designs.polybench.kernels import load, plain
from allo.explore.apply import Step, apply
from allo.explore.beyond.columns import operations, try_columns
from allo.explore.beyond.merged import has_triangle, merged
from allo.explore.budget import Asked, Built
from allo.explore.model.kernel import Kernel
from allo.explore.model.read import read_kernel
from allo.explore.model.rows import Limits
from allo.explore.model.units import Units
from allo.explore.solve import Choice
from allo.schedule import Schedule

PRODUCT = ("arith.mulf", ("f32", "f32"), "f32")


@dataclass
class Kept:
    """A search that keeps the schedules it is given, without their reports."""

    given: Schedule
    kernel: Kernel
    asked: Asked
    good: list[Built] = field(default_factory=list)
    seen: set[str] = field(default_factory=set)
    elapsed: float = 1.0
    made: list[tuple[list[Step], Schedule]] = field(default_factory=list)

    @property
    def units(self) -> Units:
        return Units("xcup", 300.0, "keep")

    def keep(
        self, steps: list[Step], choice: Choice | None, made: Schedule, most: float | None = None
    ) -> Built | None:
        self.made.append((steps, made))
        return None


def kept(name: str, size: tuple[int, ...], dsp: int, marked: str = "") -> Kept:
    given = plain(name, size)
    if marked:
        given.pipeline(marked)
    asked = Asked("xcup", 300.0, Limits(dsp, None, None), "cycles", 60.0, True, None, {})
    search = Kept(given, read_kernel(given), asked)
    try_columns(search)
    return search


def intervals(steps: list[Step]) -> list[Any]:
    pipelines = [step for step in steps if step.primitive == "pipeline"]
    return [dict(step.options).get("initiation_interval", 1) for step in pipelines]


def cuts(steps: list[Step]) -> list[Any]:
    return [step.arguments[1] for step in steps if step.primitive == "cut"]


def test_columns_of_trmm_take_the_cycles_that_its_products_fill() -> None:
    """A column of 20 has 190 products and is scaled in 20 more, on 62 units of two blocks."""
    found = kept("trmm", (20, 30), 124).made
    rows = [19 - i + 1 for i in range(20)]
    for steps, _ in found:
        ends = [0, *cuts(steps), 20]
        works = [sum(rows[a:b]) for a, b in zip(ends, ends[1:], strict=False)]
        assert intervals(steps) == [-(-work // 62) for work in works]
        columns = plain("trmm", (20, 30))
        apply(columns, [s for s in steps if s.primitive in ("absorb", "compute_at", "cut", "sink")])
        kernel = read_kernel(columns)
        tops = [nest.number for nest in kernel.nests if nest.parent is None]
        assert [operations(kernel, top, 0, {})[PRODUCT] for top in tops] == works
        assert [kernel.nests[top].chain[0].extent for top in tops] == [30] * len(tops)
    two = next(steps for steps, _ in found if len(cuts(steps)) == 1)
    least = {a: -(-sum(rows[:a]) // 62) - (-sum(rows[a:]) // 62) for a in range(1, 20)}
    last = max(a for a, cycles in least.items() if cycles == min(least.values()))
    assert cuts(two) == [last]


def test_columns_give_the_bits_of_the_cpu() -> None:
    for name, dsp in (("trmm", 16), ("symm", 24)):
        size = (5, 6)
        steps, made = kept(name, size, dsp).made[0]
        assert len(cuts(steps)) == 1
        ours, theirs = (load(name).inputs(np.random.default_rng(2), size) for _ in range(2))
        made.build(target="verilog", simulator="jit", clock_mhz=300)(*ours)
        made.build()(*theirs)
        assert all(a.tobytes() == b.tobytes() for a, b in zip(ours, theirs, strict=True))


def test_rows_that_bound_the_columns_and_kernels_without_triangles_have_none() -> None:
    assert not has_triangle(read_kernel(plain("gemm", (4, 5, 6))))
    for name, size in (("gemm", (4, 5, 6)), ("syrk", (5, 6))):
        assert kept(name, size, 16).made == []


def test_nests_of_other_functions_are_merged_and_marked_ones_are_left() -> None:
    given = plain("syrk", (5, 6))
    whole, steps = merged(given, read_kernel(given))
    assert [step.primitive for step in steps][-1] == "compute_at"
    assert len([nest for nest in whole.nests if nest.parent is None]) == 1
    function = read_kernel(given).nests[0].function
    given.pipeline(next(loop for _, band in given.get_loops(function) for _, loop in band))
    assert merged(given, read_kernel(given))[1] == []
    assert kept("trmm", (5, 6), 16, marked="scale:j").made == []
