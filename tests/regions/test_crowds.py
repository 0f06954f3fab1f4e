"""Processes that wait for streams and for ports, whatever stands still with them, cycle by cycle."""

from __future__ import annotations

import numpy as np
import pytest

from allo.backend.rtl.regions.native import Engine

from . import crowds
from .programs import foretold, hardware, measured

SEEDS = (5, 6, 13, 20)
"""Two of which wait at a port in a pipeline that waits for words, and all of which run regions that wait."""


@pytest.mark.parametrize("seed", SEEDS)
def test_random_regions_at_the_ports_of_two_arrays(seed: int):
    module = hardware(crowds.schedule_of(seed))
    rows = source.count("def p") if (source := crowds.source_of(seed)[0]) else 0
    given = [np.arange(rows * crowds.WORDS, dtype=np.int32).reshape(rows, -1) for _ in range(2)]
    told = foretold(module)
    assert told is not None and told == measured(module, *given) == module.report.cycles


def test_a_model_that_lets_all_pass_tells_fewer_cycles(monkeypatch: pytest.MonkeyPatch):
    """So does one in which a region asks for nothing that its members ask for."""
    module = hardware(crowds.schedule_of(SEEDS[1]))
    told, add = foretold(module), Engine.add_client
    assert told is not None
    for changed in (
        lambda *given: add(*given[:4], False, given[5]),
        lambda *given: add(*given[:5], -1),
    ):
        monkeypatch.setattr(Engine, "add_client", changed)
        shorter = foretold(module)
        assert shorter is not None and shorter < told
