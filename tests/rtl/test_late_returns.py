"""Places that puts have kept are given back by a register where the clock of the device asks for it."""

from __future__ import annotations

import numpy as np
import pytest

import allo
import allo.dataflow as df
from allo.backend import devices
from allo.backend.rtl.plan.timing_model import TimingModel
from allo.ir.types import Stream, int8, int32
from allo.library.systolic_array import schedule_systolic_array, systolic_array

WORDS = 48
FAST = {"device": "ecp5", "clock_mhz": 100}


@df.region()
def line(A: int32[WORDS], B: int32[WORDS]):
    """A put that comes two cycles after its iteration's first."""
    words: Stream[int32, 2]

    @df.kernel(mapping=[1], args=[A])
    def give(x: int32[WORDS]):
        for i in range(WORDS):
            words.put(x[i] * 3 + 1)

    @df.kernel(mapping=[1], args=[B])
    def take(y: int32[WORDS]):
        for j in range(WORDS):
            y[j] = words.get()


@df.region()
def in_turns(A: int32[WORDS], B: int32[WORDS]):
    """Two words an iteration, a stream under a condition, a FIFO of one word, and a slow reader."""
    pairs: Stream[int32, 1]
    some: Stream[int32, 1]

    @df.kernel(mapping=[1], args=[A])
    def give(x: int32[WORDS]):
        for i in range(WORDS // 2):
            first: int32 = x[2 * i]
            second: int32 = x[2 * i + 1]
            pairs.put(first)
            pairs.put(second)
            if first % 2 == 0:
                some.put(second)

    @df.kernel(mapping=[1], args=[B])
    def take(y: int32[WORDS]):
        for j in range(WORDS // 2):
            first: int32 = pairs.get()
            total: int32 = 0
            for k in range(j % 5):
                total += first * k
            y[2 * j] = total
            second: int32 = pairs.get()
            if first % 2 == 0:
                second += some.get()
            y[2 * j + 1] = second


def _module(region, loops, **options):
    schedule = df.customize(region)
    for loop in loops:
        schedule.pipeline(loop)
    return schedule.build(target="verilog", simulator="jit", max_cycles=5_000, **options)


def test_a_place_that_is_given_back_late_costs_one_cycle_of_a_run(monkeypatch):
    cycles = {}
    for late in (True, False):
        monkeypatch.setattr(TimingModel, "late_returns", late)
        module = _module(line, ["give_0:i", "take_0:j"], **FAST)
        assert ("words_given_back" in module.verilog) == late
        for call in range(2):
            a, b = np.arange(WORDS, dtype=np.int32) - call, np.zeros(WORDS, np.int32)
            module(a, b)
            np.testing.assert_array_equal(b, 3 * a + 1)
        cycles[late] = module.cycles
    assert cycles[True] == cycles[False] + 1 < WORDS + 6


def test_a_late_place_does_not_slow_rows_that_start_one_after_the_other(monkeypatch):
    """The buffer has a place more, so a feed runs as far ahead of the last row as before."""
    cycles = {}
    for late in (True, False):
        monkeypatch.setattr(TimingModel, "late_returns", late)
        parameters = [int8, int8, int32, 3, 16, 3]
        array = allo.customize(systolic_array, instantiate=parameters)
        module = schedule_systolic_array(array).build(target="verilog", simulator="jit", **FAST)
        a, b = np.arange(48, dtype=np.int8).reshape(3, 16), np.eye(16, 3, dtype=np.int8)
        c = np.zeros((3, 3), np.int32)
        module(a, b, c)
        np.testing.assert_array_equal(c, a.astype(np.int32) @ b)
        cycles[late] = module.cycles
    assert cycles[True] <= cycles[False]


@pytest.mark.parametrize("options", [{}, FAST], ids=["at once", "late"])
def test_words_of_an_iteration_wait_for_a_slow_reader(options):
    module = _module(in_turns, ["give_0:i"], **options)
    assert ("pairs_given_back" in module.verilog) == bool(options)
    rng = np.random.default_rng(5)
    for _ in range(3):
        a, b = rng.integers(-99, 99, WORDS).astype(np.int32), np.zeros(WORDS, np.int32)
        module(a, b)
        first, second = a[0::2], a[1::2]
        sums = np.array([sum(range(j % 5)) for j in range(WORDS // 2)], np.int32)
        np.testing.assert_array_equal(b[0::2], first * sums)
        np.testing.assert_array_equal(b[1::2], np.where(first % 2 == 0, 2 * second, second))


@pytest.mark.parametrize(
    ("family", "clock", "late"),
    [("ecp5", 100.0, True), ("ecp5", 60.0, False), ("xcup", 400.0, False)],
)
def test_only_a_fast_clock_of_a_family_with_long_wires_gives_places_back_late(
    family: str, clock: float, late: bool
):
    assert TimingModel.of(devices.family(family).operators, clock).late_returns is late
