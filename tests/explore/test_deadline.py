"""What takes too long in a search is interrupted, and nothing behind it is."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

import allo
from allo.explore import search
from allo.explore.beyond import tries
from allo.explore.deadline import Overdue, deadline
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
    monkeypatch.setattr(search, "LEAST", 0.01)
    monkeypatch.setattr(search, "SHARE", 0.01)
    found = allo.autoschedule(kernels.sweep, max_dsp=20, seconds=20.0, cache=False)
    assert any("no report within" in design.note for design in found.trace.tried)
    assert any("too slow" in words for words in found.trace.unexplored)
