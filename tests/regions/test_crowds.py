"""Processes that wait for streams and for ports, whatever stands still with them, cycle by cycle."""

from __future__ import annotations

import pytest

from allo.backend.rtl.regions.native import Engine

from . import crowds
from .programs import foretold, hardware, measured

SEEDS = (5, 6, 13, 20)
"""All of them run regions whose members ask for ports, too."""


@pytest.mark.parametrize("seed", SEEDS)
def test_random_regions_at_the_ports_of_two_arrays(seed: int):
    module = hardware(crowds.schedule_of(seed))
    told = foretold(module)
    cycles = measured(module, *crowds.arguments_of(seed))
    assert told is not None and told == cycles == module.report.cycles


def test_a_model_that_lets_all_pass_tells_fewer_cycles(monkeypatch: pytest.MonkeyPatch):
    """So does one in which a region asks for nothing that its members ask for."""
    module = hardware(crowds.schedule_of(SEEDS[0]))
    told, add = foretold(module), Engine.add_client
    assert told is not None
    for changed in (
        lambda *given: add(*given[:4], False, given[5]),
        lambda *given: add(*given[:5], -1),
    ):
        monkeypatch.setattr(Engine, "add_client", changed)
        shorter = foretold(module)
        assert shorter is not None and shorter < told
