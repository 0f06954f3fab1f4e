"""What takes too long in a search is interrupted, and nothing behind it is."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

import allo
from allo.explore import deadline as deadlines
from allo.explore import search
from allo.explore.beyond import tries
from allo.explore.deadline import Clock, Overdue, deadline
from allo.explore.solve import Problem
from allo.schedule import Schedule
from tests.explore import kernels

LONG = 1 << 30
"""Rounds of a loop that nobody waits for."""


def spin(rounds: int) -> int:
    """Take a while in Python code."""
    count = 0
    for number in range(rounds):
        count ^= number
    return count


def test_what_takes_too_long_is_interrupted() -> None:
    seconds = itertools.count()
    with pytest.raises(Overdue), deadline(2.0, lambda: float(next(seconds))):
        spin(LONG)


def test_what_is_in_time_is_not() -> None:
    for _ in range(3):
        with deadline(60.0, lambda: 0.0):
            assert spin(1 << 16) == 0
    assert spin(1 << 16) == 0


def test_a_search_goes_on_without_a_report_that_takes_too_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made, calls = Schedule.estimate, []

    def slow(self: Schedule, **options: Any) -> Any:
        calls.append(1)
        if len(calls) == 2:
            spin(LONG)
        return made(self, **options)

    monkeypatch.setattr(Schedule, "estimate", slow)
    monkeypatch.setattr(tries, "SHARE", 0.0)
    monkeypatch.setattr(deadlines, "LEAST", 0.01)
    monkeypatch.setattr(deadlines, "SHARE", 0.01)
    found = allo.autoschedule(kernels.sweep, max_dsp=20, seconds=20.0, cache=False)
    assert any("no report within" in design.note for design in found.trace.tried)
    assert any("too slow" in words for words in found.trace.unexplored)


def test_reports_and_the_bound_leave_time_for_the_check() -> None:
    now = [0.0]
    clock = Clock(60.0, lambda: now[0])
    clock.kernel, clock.solved = 1.0, 2.0
    clock.reported(4.0)
    now[0] = 20.0
    assert (clock.rest, clock.left, clock.most(within=True)) == (38.0, 32.0, 20.0)
    clock.reported(30.0)  # its design takes long on the CPU, too
    now[0] = 50.0
    assert (clock.rest, clock.left) == (7.0, -25.0)
    assert (clock.most(within=True), clock.most(within=False)) == (7.0, 12.0)
    now[0] = 58.0
    assert clock.most(within=True) == 0.0


def test_no_bound_is_solved_for_behind_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the loops have to do at least is told instead."""
    asked: list[str] = []
    monkeypatch.setattr(Problem, "solve", lambda *_, **__: asked.append("solver"))
    monkeypatch.setattr(search, "work_bound", lambda *_: asked.append("work") or 7)
    monkeypatch.setattr(Clock, "rest", property(lambda _: 0.0))
    found = allo.autoschedule(kernels.sweep, max_dsp=20, seconds=20.0, cache=False)
    assert "solver" not in asked and "work" in asked
    assert found.trace.bound == 7
