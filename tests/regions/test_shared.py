"""Ports that tasks of a loop share, arrays outside of a design, and regions in which no process ends."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import allo
import allo.dataflow as df
from allo.backend.rtl.regions.follow import tracer
from allo.backend.sim import MemoryChannel
from allo.errors import PredictionError
from allo.ir.types import int32
from tests.dataflow.ports import programs as ports

from . import programs
from .programs import N, foretold, hardware, measured, words


def crowded(A: int32[8, 16], B: int32[16]):
    for i in range(6):
        for j in range(16):
            A[i + 2, j] = A[i, j] + B[j]
        for k in range(16):
            A[i + 2, k] = A[i + 2, k] * 3


def test_tasks_of_a_loop_that_want_one_port(monkeypatch: pytest.MonkeyPatch):
    """Were no task to wait for the port, the loop would be shorter."""
    s = allo.customize(crowded)
    s.pipeline("j")
    s.pipeline("k")
    s.dataflow(next(band["i"] for _, band in s.get_loops() if "i" in dict(band)))
    module = hardware(s)
    given = np.ones((8, 16), np.int32), np.ones(16, np.int32)
    cycles = measured(module, *given)
    assert foretold(module) == cycles
    monkeypatch.setattr(tracer, "requests_of", lambda *given: {})
    shorter = foretold(module)
    assert shorter is not None and cycles is not None and shorter < cycles


def test_arrays_outside_that_make_nobody_wait():
    module = hardware(df.customize(programs.crowd), external=["A"])
    given = np.random.default_rng(3).integers(0, 99, N).astype(np.int32)
    arguments = given, words(), words()
    assert foretold(module, *arguments) == measured(module, *arguments)
    assert module.report.cycles is None
    assert "arrays outside of the design may make it wait" in module.report.regions[0].reason
    slow = module.variant(memory={"A": MemoryChannel("a", 8)})
    with pytest.raises(PredictionError, match="crowd waits for memories outside"):
        slow.predict(*arguments)


@pytest.mark.parametrize(
    ("region", "streams"),
    [
        (ports.forever, [np.arange(9, dtype=np.int32), np.zeros(8, np.int16)]),
        (ports.joined, [np.arange(5, dtype=np.int32), np.arange(3, dtype=np.int32), words()]),
        (ports.generated, [np.zeros(5, np.int32)]),
    ],
)
def test_a_run_without_an_end_is_over_with_its_streams(region: Any, streams: list[np.ndarray]):
    """Words that came in are used up, or there is no room for more outside."""
    module = hardware(df.customize(region))
    for _ in range(2):
        told = foretold(module, *streams)
        assert told is not None and told == measured(module, *streams)
    with pytest.raises(PredictionError, match="words from outside say when"):
        module.predict()
