"""The least interval of a loop by the estimate of time: which builds count, and the interval of `merge`."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from benchmarks import least_intervals
from benchmarks.recurrent_kernels import RECURRENCES


def report(ii: int, mhz: float, *, inner: int = 0) -> Any:
    """A report of one function with a loop, and a loop inside it."""
    child = SimpleNamespace(name="m", ii=inner, children=[])
    loop = SimpleNamespace(name="k", ii=ii, children=[child])
    return SimpleNamespace(functions=[SimpleNamespace(name="f", loops=[loop])], fmax_mhz=mhz)


def test_a_build_for_a_slower_clock_counts_where_it_is_estimated_to_reach_the_asked_one() -> None:
    builds = {100: report(4, 120), 80: report(3, 90), 65: report(2, 84), 50: report(2, 84)}
    builds[40] = report(1, 60)
    assert least_intervals.least(builds.__getitem__, 100.0) == {"f.k": (4, 3)}
    builds[65] = report(2, 85)
    assert least_intervals.least(builds.__getitem__, 100.0) == {"f.k": (4, 2)}


def test_loops_inside_others_are_found_and_such_of_interval_one_are_not_built_again() -> None:
    asked: list[float] = []

    def build(mhz: float) -> Any:
        asked.append(mhz)
        return report(0, 400, inner=1)

    assert least_intervals.least(build, 100.0) == {"f.m": (1, 1)}
    assert asked == [100.0]


@pytest.mark.parametrize(("name", "device", "most"), [("merge", "ecp5", (3, 2))])
def test_no_recurrence_waits_longer_than_was_found(
    name: str, device: str, most: tuple[int, int]
) -> None:
    case = next(case for case in RECURRENCES if case.kernel.__name__ == name)
    (row,) = least_intervals.rows_of("recurrences", name, case.schedule, device)
    assert 1 <= row.reference <= row.value <= most[0] and row.reference <= most[1], row
