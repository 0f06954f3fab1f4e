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
    functions = [SimpleNamespace(name="f", loops=[loop])]
    return SimpleNamespace(functions=functions, fmax_mhz=mhz, port_paths=[])


def clock_of(found: Any) -> float:
    return found.fmax_mhz


def test_a_build_for_a_slower_clock_counts_where_it_is_estimated_to_reach_the_asked_one() -> None:
    builds = {100: report(4, 120), 80: report(3, 100), 65: report(2, 99), 50: report(2, 99)}
    builds[40] = report(1, 60)
    assert least_intervals.least(builds.__getitem__, 100.0, clock_of) == {"f.k": (4, 3)}
    builds[65] = report(2, 101)
    assert least_intervals.least(builds.__getitem__, 100.0, clock_of) == {"f.k": (4, 2)}


def test_loops_inside_others_are_found_and_such_of_interval_one_are_not_built_again() -> None:
    asked: list[float] = []

    def build(mhz: float) -> Any:
        asked.append(mhz)
        return report(0, 400, inner=1)

    assert least_intervals.least(build, 100.0, clock_of) == {"f.m": (1, 1)}
    assert asked == [100.0]


def test_the_clock_counts_memories_of_arguments() -> None:
    """5.9 ns to a word of a block of ECP5 and 1 ns to its ports."""
    found = report(1, 200.0)
    paths = {("a_0_p0_rdata", ""): 4.1, ("", "c_0_p0_addr"): 8.0, ("start", ""): 9.5}
    found.port_paths = [
        SimpleNamespace(start=start, end=end, delay_ns=delay_ns)
        for (start, end), delay_ns in paths.items()
    ]
    assert least_intervals.reached_with_arrays(found, "ecp5") == pytest.approx(100.0)
    found.port_paths = found.port_paths[1:2]
    assert least_intervals.reached_with_arrays(found, "ecp5") == pytest.approx(1000 / 9.0)


@pytest.mark.parametrize(("name", "device", "most"), [("merge", "ecp5", (3, 3))])
def test_no_recurrence_waits_longer_than_was_found(
    name: str, device: str, most: tuple[int, int]
) -> None:
    case = next(case for case in RECURRENCES if case.kernel.__name__ == name)
    (_, row) = least_intervals.rows_of("recurrences", name, case.schedule, device)
    assert 1 <= row.reference <= row.value <= most[0] and row.reference <= most[1], row
