"""Words that several processes load and store at once decide: cycle by cycle what each finds is foretold."""

from __future__ import annotations

import pytest

from allo.backend.rtl.regions.follow import code
from allo.backend.rtl.regions.follow.races import Races

from . import races
from .programs import foretold, hardware, measured

SEEDS = (4, 6, 11)
"""The last one has loops that are left early, at a port that others wait for."""


@pytest.mark.parametrize("seed", SEEDS)
def test_random_regions_whose_processes_race(seed: int):
    module = hardware(races.schedule_of(seed))
    found = module.predict(*races.arguments_of(seed))
    assert found.model.build.races.clients
    for _ in range(2):
        assert measured(module, *races.arguments_of(seed)) == found.cycles


def test_iterations_behind_the_last_one_ask_for_ports(monkeypatch: pytest.MonkeyPatch):
    module, given = hardware(races.schedule_of(11)), races.arguments_of(11)
    told = foretold(module, *given)
    monkeypatch.setattr(code, "asked_behind", lambda *given: {})
    shorter = foretold(module, *given)
    assert shorter is not None and told is not None and shorter < told


def test_words_that_are_guessed_do_not_tell_the_cycles(monkeypatch: pytest.MonkeyPatch):
    """Were each process followed behind those before it, it would find what they leave in the end."""
    module, given = hardware(races.schedule_of(SEEDS[1])), races.arguments_of(SEEDS[1])
    told = foretold(module, *given)
    monkeypatch.setattr(Races, "found", lambda *given: ({}, True))
    assert foretold(module, *given) != told
