"""Rows that several nests read, in one nest."""

from __future__ import annotations

from typing import Any

import numpy as np

import allo
from allo.designs.polybench.kernels import load, plain
from allo.explore.beyond.shared import readers, rows_at_once, try_shared
from allo.explore.budget import Asked
from allo.explore.model.read import read_kernel
from allo.explore.model.rows import Limits
from allo.explore.model.units import Units
from allo.ir.types import float32
from allo.schedule import Schedule
from tests.explore.test_columns import Kept

UNITS = Units("xcup", 300.0, "keep")


def merged(given: Schedule, dsp: int) -> Any:
    asked = Asked("xcup", 300.0, Limits(dsp, None, None), "cycles", 60.0, True, None, {})
    search = Kept(given, read_kernel(given), asked)
    try_shared(search)
    return search.made


def test_both_products_of_bicg_take_two_rows_at_once_and_give_the_bits_of_the_cpu() -> None:
    """An addition takes longer than the two cycles in which 38 multipliers do the work of a row."""
    made = merged(plain("bicg", (38, 42)), 76)
    assert dict(next(s for s in made[0][0][::-1] if s.primitive == "pipeline").options) == {
        "initiation_interval": 4
    }
    size = (5, 6)
    ((steps, small),) = merged(plain("bicg", size), 10)
    assert len([step for step in steps if step.primitive == "split"]) == 2
    ours, theirs = (load("bicg").inputs(np.random.default_rng(4), size) for _ in range(2))
    mod = small.build(target="verilog", simulator="jit", clock_mhz=300)
    mod(*ours)
    small.build()(*theirs)
    assert all(a.tobytes() == b.tobytes() for a, b in zip(ours, theirs, strict=True))


def twice(A: float32[6, 4], x: float32[4], y: float32[6]):
    for i in range(6):
        for j in range(4):
            y[i] += A[i, j] * x[j]
    for i1 in range(6):
        for j1 in range(4):
            y[5 - i1] += A[i1, j1]


def test_what_cannot_be_merged_is_left() -> None:
    """The second nest reads sums of rows that come later."""
    kernel = read_kernel(allo.customize(twice))
    assert len(readers(kernel)) == 2
    assert merged(allo.customize(twice), 16) == []
    assert merged(plain("gemm", (4, 5, 6)), 16) == []
    assert rows_at_once(kernel, UNITS, readers(kernel), 16) == 1, "no sum goes from row to row"
