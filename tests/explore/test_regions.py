"""Schedules of dataflow regions: pipelines, depths of FIFOs, and cycles that data decide."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest

import allo
from allo.explore import FoundSchedule
from allo.ir.types import int32
from tests.explore import regions


def inputs(rng: np.random.Generator) -> list[np.ndarray]:
    return [rng.integers(0, 100, 32).astype(np.int32), np.zeros(32, np.int32)]


def found(region: Any) -> FoundSchedule:
    return allo.autoschedule(
        region, seconds=10.0, cache=False, inputs=inputs, timer=time.process_time
    )


def simulated(schedule: FoundSchedule, seed: int) -> int:
    """The cycles of a run, which gives what the interpreter does."""
    hardware = schedule.build(target="verilog", simulator="jit")
    ours, wanted = (inputs(np.random.default_rng(seed)) for _ in range(2))
    hardware(*ours)
    schedule.build()(*wanted)
    np.testing.assert_array_equal(ours[1], wanted[1])
    return int(hardware.cycles)


@pytest.mark.filterwarnings("error")
def test_fifos_get_the_depths_that_keep_the_cycles() -> None:
    best = found(regions.even)
    assert simulated(best, 3) == best.trace.cycles == best.trace.plain
    (steps,) = [call for call in best.primitive_sequences if call[0] == "fifo_depths"]
    assert steps[1] == [["even:pipe"], [2]]
    before, after = best.trace.tried[0].resources, best.trace.tried[-1].resources
    assert after["lut"] < before["lut"]
    assert 's.fifo_depths(["even:pipe"], [2])' in best.script()


def test_cycles_that_data_decide_are_those_of_the_first_arguments() -> None:
    best = found(regions.chosen)
    assert best.estimate().cycles is None
    assert simulated(best, 0) == best.trace.cycles
    assert any(
        "depths of FIFOs" in words and "values of A" in words for words in best.trace.unexplored
    )


def scaled(A: int32[24, 32], B: int32[24, 32]):
    for i, j in allo.grid(24, 32):
        B[i, j] = A[i, j] * 5 + 1


def test_arrays_in_memory_count_by_what_is_foretold() -> None:
    asked = {"interface": "m_axi", "clock_mhz": 200.0}
    best = allo.autoschedule(
        scaled, max_dsp=40, seconds=10.0, cache=False, timer=time.process_time, **asked
    )
    foretold = best.build(target="verilog", **asked).foretold
    assert best.trace.cycles == foretold.cycles < best.trace.plain / 4
    assert {passing.loop != "" for passing in foretold.passing} == {True}
