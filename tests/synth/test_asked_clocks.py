"""The clock that the estimate finds is at most 15 % below the one that was asked for."""

from __future__ import annotations

import warnings

import pytest

from allo.errors import AlloWarning
from benchmarks import asked_clocks

SMALL = [
    ("gallery", "histogram"),
    ("gallery", "cordic"),
    ("recurrences", "automaton"),
    ("machsuite", "bfs_bulk"),
    ("machsuite", "stencil2d"),
]
"""Some of each suite that are built in a second. ``scripts/bench asked_clocks`` has all."""


@pytest.mark.parametrize("device", asked_clocks.FAMILIES)
@pytest.mark.parametrize(("suite", "name"), SMALL)
def test_scheduler_and_estimate_agree(suite: str, name: str, device: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AlloWarning)
        row = asked_clocks.row_of(suite, name, asked_clocks.suites()[suite][name], device)
    assert row.held, row.note


def test_a_design_that_is_too_slow_is_told() -> None:
    (name,) = asked_clocks.FAMILIES[:1]
    assert asked_clocks.agrees(256.0, 300.0) and not asked_clocks.agrees(254.0, 300.0)
    figures = {
        asked_clocks.key_of("recurrences", kernel, name): mhz
        for kernel, mhz in (("crc32", 301.0), ("merge", 200.0))
    }
    (group,) = asked_clocks.groups(figures.__getitem__, figures.__contains__)
    assert (group.designs, group.near, group.of) == (2, 1, "merge")
