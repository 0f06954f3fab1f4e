"""Processes that ask streams without waiting find in the model what they find in hardware."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import numpy as np
import pytest

import allo.dataflow as df
from allo.backend.rtl.regions import live, standstill, variants
from allo.backend.rtl.regions.follow import tracer
from allo.backend.sim.module import RTLModule
from allo.errors import DeadlockError, PredictionError
from tests.dataflow.tries import programs as tried
from tests.dataflow.tries import test_hardware as pipelines
from tests.dataflow.tries import test_outside as outside
from tests.dataflow.tries import test_refusals as refusals
from tests.dataflow.tries import test_types as types

from .programs import hardware

COUNT = tried.N
A = np.arange(1, COUNT + 1, dtype=np.int32)
B = A + 100


def zeros(*sizes: int) -> list[np.ndarray]:
    """Arrays to be filled."""
    return [np.zeros(size, np.int32) for size in sizes]


CASES: dict[str, tuple[Any, tuple[str, ...], list[Any]]] = {
    "arbiter": (tried.arbiter, (), [A, B, *zeros(2 * COUNT)]),
    "who may give": (tried.many, (), [A, B, *zeros(2 * COUNT)]),
    "dropped": (tried.drops, (), [np.arange(4 * COUNT, dtype=np.int32), *zeros(4 * COUNT, 3)]),
    "in functions": (types.by_functions, (), [np.arange(8, dtype=np.int32), *zeros(8, 8)]),
    "in a pipeline": (
        pipelines.dropping,
        ("send_0:t",),
        [np.arange(1, 65, dtype=np.int32), *zeros(64, 2)],
    ),
    "in a region that a process runs": (
        outside.outer,
        (),
        [np.arange(outside.N, dtype=np.int32), *zeros(outside.N, outside.N)],
    ),
}


def both(module: RTLModule, given: list[Any]) -> tuple[int, int]:
    """The cycles foretold and counted."""
    found = module.predict(*deepcopy(given))
    module(*deepcopy(given))
    assert module.cycles is not None
    return found.cycles, module.cycles


@pytest.mark.parametrize("name", CASES)
def test_what_is_found_in_a_cycle_decides(name: str):
    region, pipelined, given = CASES[name]
    s = df.customize(region)
    for loop in pipelined:
        s.pipeline(loop)
    told, counted = both(hardware(s), given)
    assert told == counted


def test_other_depths_are_followed_anew():
    """Fewer words are dropped where there is more room, so the run is another one."""
    given = CASES["dropped"][2]
    found = hardware(df.customize(tried.drops)).predict(*deepcopy(given))
    passed = next(fifo.words for fifo in found.fifos if fifo.name == "pipe")
    for depth in (1, 5, 2):
        s = df.customize(tried.drops)
        s.fifo_depths(["pipe"], [depth])
        module, result = hardware(s), deepcopy(given)
        module(*result)
        again = found.retime({"pipe": depth})
        words = next(fifo.words for fifo in again.fifos if fifo.name == "pipe")
        assert (again.cycles, words) == (module.cycles, result[2][0])
        assert (words == passed) == (depth == 2)


def test_sizes_are_not_sought_where_depths_decide():
    s = df.customize(tried.drops)
    with pytest.raises(PredictionError, match="do other things with other depths of the FIFOs"):
        s.size_fifos(inputs=deepcopy(CASES["dropped"][2]))


def test_a_question_of_another_cycle_is_seen(monkeypatch: pytest.MonkeyPatch):
    """Were the model to ask a cycle late, the comparisons here would fail."""
    module, given = hardware(df.customize(tried.arbiter)), CASES["arbiter"][2]
    told, counted = both(module, given)
    true = variants.part_code

    def planted(*given: Any) -> list[int]:
        kind, count, *rows = true(*given)
        return [kind, count + 1, variants.ADVANCE, 1, *rows]

    monkeypatch.setattr(tracer, "part_code", planted)
    assert module.predict(*deepcopy(given)).cycles != counted == told


@pytest.mark.parametrize(
    ("region", "who"),
    [
        (refusals.starved, "waits_0 for a word of back, polls_0, which asks in vain"),
        (refusals.all_poll, "polls_0, which asks in vain, polls_1, which asks in vain"),
    ],
)
def test_processes_that_ask_for_ever_stand_still(region: Any, who: str):
    module = hardware(df.customize(region))
    with pytest.raises(DeadlockError) as error:
        module.predict(*zeros(8))
    assert f"wait for each other: {who}." in str(error.value)
    with pytest.raises(DeadlockError):
        module(*zeros(8))


def test_patience_is_no_end(monkeypatch: pytest.MonkeyPatch):
    """Two hundred vain questions are not for ever: the values of the process do not come back."""
    monkeypatch.setattr(standstill, "PATIENCE", 4)
    given = [np.arange(COUNT, dtype=np.int32), *zeros(COUNT, 1)]
    told, counted = both(hardware(df.customize(tried.timeouts)), given)
    assert told == counted > 1000


def test_a_run_that_asks_for_too_long_is_given_up(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(live, "MOST_ANSWERS", 20)
    module = hardware(df.customize(tried.arbiter))
    with pytest.raises(PredictionError, match="ask streams more often than is followed"):
        module.predict(*deepcopy(CASES["arbiter"][2]))
