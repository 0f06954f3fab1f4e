"""What processes call with other streams, and ports that they wait for while their loops overlap."""

from __future__ import annotations

import numpy as np
import pytest

import allo.dataflow as df
from allo.backend.rtl.regions.follow import tracer
from allo.backend.rtl.regions.native import Engine
from tests.dataflow import test_layouts as layouts
from tests.dataflow import test_words_left as lent

from . import programs
from .programs import N, foretold, hardware, measured


@pytest.mark.parametrize("loop", [None, "two:i"])
def test_a_function_called_with_several_streams(loop: str | None):
    """Its buffers are one hardware, and hold no words between calls."""
    s = df.customize(lent.lent)
    if loop:
        s.pipeline(loop)
    module = hardware(s)
    a, b = np.arange(12, dtype=np.int32), np.zeros(12, np.int32)
    assert foretold(module) == measured(module, a, b) == module.report.cycles
    assert b.tolist() == [1, 5, 0, 100, 500, 0, 11, 15, 0, 0, 4, 0]


def test_loops_that_others_follow_at_a_port(monkeypatch: pytest.MonkeyPatch):
    """The last iterations of a loop ask for ports while the next loop does."""
    s = df.customize(programs.followed)
    loops = s.get_loops("core_0")
    for band, loop in (("S_i_0", "i"), ("S_i_j_1", "j")):
        s.pipeline(loops[band][loop])
    module = hardware(s)
    a = np.arange(3 * N, dtype=np.int32).reshape(3, N)
    b = np.zeros_like(a)
    told = foretold(module)
    assert told == measured(module, a, b) == module.report.cycles
    places = np.arange(N)
    assert np.array_equal(b, (a + 1) * a[:, places // 3])
    monkeypatch.setattr(tracer, "requests_of", lambda *given: {})
    shorter = foretold(module)
    assert shorter is not None and told is not None and shorter < told


def test_a_region_that_waits_for_ports_of_its_caller(monkeypatch: pytest.MonkeyPatch):
    """Its members wait for each other at a port, and all of them for who else runs such a region."""
    region, (a, b), expected = layouts.PROGRAMS["calls"]
    module = hardware(df.customize(region))
    wanted = expected(a.copy(), b.copy())[1]
    found = b.copy()
    told = foretold(module)
    assert told == measured(module, a.copy(), found) == module.report.cycles
    assert np.array_equal(found, wanted)
    inner = [row for row in module.report.regions if row.name.startswith("inner")]
    first, second = (row.cycles for row in inner)
    assert first is not None and second is not None and first < second
    add = Engine.add_client
    monkeypatch.setattr(Engine, "add_client", lambda *given: add(*given[:4], False, given[5]))
    shorter = foretold(module)
    assert shorter is not None and told is not None and shorter < told
