"""Words that several processes load and store at once decide: cycle by cycle what each finds is foretold."""

from __future__ import annotations

import numpy as np
import pytest

import allo
import allo.dataflow as df
from allo.backend.rtl.regions.follow import code
from allo.backend.rtl.regions.follow.races import Races
from allo.ir.types import int32

from . import races
from .programs import N, foretold, hardware, measured, words

SEEDS = (4, 6, 11)
"""The last one has loops that are left early, at a port that others wait for."""


@df.region()
def polled(A: int32[N], flags: int32[2], polls: int32[1]):
    """A process asks for a word until another one has stored it, 25 rounds of additions later."""

    @df.kernel(mapping=[1], args=[A, flags])
    def source(a: int32[N], f: int32[2]):
        total: int32 = 0
        for turn, i in allo.grid(25, N):
            total += a[i]
        f[total - total] = 1

    @df.kernel(mapping=[1], args=[flags, polls])
    def sink(f: int32[2], b: int32[1]):
        n: int32 = 0
        while f[n - n] == 0:
            n += 1
        b[0] = n


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


def test_a_word_that_a_process_asks_for_until_it_is_there():
    module = hardware(df.customize(polled))
    told = foretold(module, words(), np.zeros(2, np.int32), np.zeros(1, np.int32))
    polls = np.zeros(1, np.int32)
    assert measured(module, words(), np.zeros(2, np.int32), polls) == told
    assert polls[0] > 64
