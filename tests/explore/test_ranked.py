"""Which of several designs is the best one."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from allo.explore.budget import Asked, ranked
from allo.explore.model.rows import Limits

DESIGNS = [(1000, 300.0, 90_000), (1015, 300.0, 40_000), (1030, 300.0, 10_000), (990, 290.0, 5_000)]
"""Cycles, clock, lookup tables."""


def order(objective: str, options: dict[str, Any]) -> list[int]:
    asked = Asked("xcup", 300.0, Limits(100, 1_000_000, 100), objective, 60.0, True, None, options)
    made: list[Any] = [
        SimpleNamespace(cycles=c, report=SimpleNamespace(fmax_mhz=mhz, resources={"lut": lut}))
        for c, mhz, lut in DESIGNS
    ]
    return [built.cycles for built in ranked(asked, None, made)]


@pytest.mark.parametrize(
    ("objective", "options", "wanted"),
    [
        ("cycles", {"interface": "m_axi"}, [1015, 1000, 990, 1030]),
        ("throughput", {"interface": "m_axi"}, [1000, 1015, 990, 1030]),
        ("cycles", {}, [990, 1000, 1015, 1030]),
    ],
)
def test_designs_outside_of_about_the_least_time_are_ranked_by_their_tables(
    objective: str, options: dict[str, Any], wanted: list[int]
) -> None:
    assert order(objective, options) == wanted
