"""The cycles of regions that the model foretells are those that the simulators count."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import allo
import allo.dataflow as df
from allo.backend.rtl.regions import variants
from allo.backend.rtl.regions.follow import tracer
from allo.errors import DeadlockError, PredictionError
from allo.ir.types import Stateful, Stream, int8, int32
from allo.library.systolic_array import schedule_systolic_array, systolic_array
from tests.dataflow.networks import random_network, schedule_of
from tests.dataflow.shared import programs as handed

from . import programs
from .programs import N, foretold, hardware, measured, words

SEEDS = (0, 1, 3, 6, 7, 9, 11, 26)
"""Of tests/dataflow/networks.py: chains, forks and feedback; pipelined and not; that end and that do not."""


@pytest.mark.parametrize("size", [2, 4])
def test_a_systolic_array(size: int):
    shape = [int8, int8, int32, size, 5, size]
    module = hardware(schedule_systolic_array(df.customize(systolic_array, instantiate=shape)))
    rng = np.random.default_rng(size)
    a = rng.integers(-9, 9, (size, 5)).astype(np.int8)
    b = rng.integers(-9, 9, (5, size)).astype(np.int8)
    c = np.zeros((size, size), np.int32)
    assert measured(module, a, b, c) == foretold(module) == module.report.cycles
    assert np.array_equal(c, a.astype(np.int32) @ b)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_random_network(seed: int):
    network = random_network(seed)
    module = hardware(schedule_of(network))
    count = len(network.processes)
    arrays = [np.zeros(count if network.shared else 1, np.int32) for _ in range(count)]
    arrays = arrays[:1] if network.shared else arrays
    assert measured(module, *arrays) == foretold(module)


def test_loops_without_ports_behind_words_that_were_asked_for():
    """No iteration of them asks for what the process has asked for before."""
    module = hardware(df.customize(programs.opened))
    a, b, c = np.arange(N, dtype=np.int32), np.zeros(1, np.int32), np.zeros(1, np.int32)
    assert measured(module, a, b, c) == foretold(module) == module.report.cycles
    sums = 1 + np.cumsum(np.arange(N))
    assert (b[0], c[0]) == (sums[-1], 2 + sums.sum())


@pytest.mark.parametrize("clock_mhz", [200, 250, 300])
@pytest.mark.parametrize(("count", "rest"), [(3, 0), (3, 2), (0, 1)])
def test_words_that_left_before_a_process_comes_to_its_end(count: int, rest: int, clock_mhz: int):
    s = allo.customize(programs.dealt)
    s.pipeline("i")
    s.pipeline("j")
    module = hardware(s, clock_mhz=clock_mhz)
    given = np.arange(2 * count + rest, dtype=np.int32)
    odd, left = np.zeros(max(1, 2 * count), np.int32), np.zeros(max(1, rest), np.int32)
    assert measured(module, count, rest, given, odd, left) == foretold(
        module, count, rest, given, odd, left
    )
    first, rests, second = np.split(given, [count, count + rest])
    assert np.array_equal(odd[: 2 * count], np.append(first, second) * 12345 + 77)
    assert np.array_equal(left[:rest], rests)


@pytest.mark.parametrize("pipelined", [(), ("third_0:k",), ("first_0:i", "third_0:k")])
def test_processes_that_wait_for_a_port(pipelined: tuple[str, ...]):
    """Where the values of the array decide who asks for it."""
    s = df.customize(programs.crowd)
    for loop in pipelined:
        s.pipeline(loop)
    given = np.random.default_rng(3).integers(0, 99, N).astype(np.int32)
    module = hardware(s)
    b, c = words(), words()
    assert foretold(module, given, b, c) == measured(module, given, b, c)
    assert np.array_equal(c, np.where(given > 20, given[given % N], 0))


@pytest.mark.parametrize("seed", [5, 10, 12, 13])
def test_a_random_network_that_shares_an_array(seed: int):
    network = random_network(seed)
    module = hardware(schedule_of(network))
    array = np.zeros(len(network.processes), np.int32)
    assert network.shared
    assert measured(module, array) == foretold(module)


def test_random_networks_end_and_do_not():
    ends = [foretold(hardware(schedule_of(random_network(seed)))) is not None for seed in SEEDS[:6]]
    assert any(ends) and not all(ends)


def test_verilator_counts_the_same():
    s = programs.bursts(N)
    s.pipeline("source_0:i")
    module = hardware(s)
    given = np.arange(N, dtype=np.int32)
    assert foretold(module) == measured(module, given, words(), engine="verilator")


def test_a_word_that_goes_round():
    """Its deciding words come from processes that wait for words of the one that wants them."""
    module = hardware(df.customize(programs.circle))
    for first in (0, 20):
        a, b = words(first), words()
        told = foretold(module, a, b)
        assert told is not None and told == measured(module, a, b)
        assert b.tolist() == [max(0, first - 3 * n) for n in range(N)]


def test_parts_of_a_memory_that_decide():
    """Each process writes words that decide what it does, in banks that no other one uses."""
    s = df.customize(programs.units)
    for array in "AB":
        s.partition(f"units:{array}", dim=1)
    module = hardware(s)
    a = np.random.default_rng(1).integers(0, 99, (2, N)).astype(np.int32)
    b = np.zeros_like(a)
    expected = programs.counted(a)
    assert foretold(module, a, b) == measured(module, a, b)
    assert np.array_equal((a, b), expected)


@pytest.mark.parametrize("values", [(), (3, 6, 9), (1, 2, 3, 4, 5), tuple(range(1, N + 1))])
def test_values_that_decide(values: tuple[int, ...]):
    module = hardware(df.customize(programs.filtered))
    assert foretold(module, words(*values), words()) == measured(module, words(*values), words())
    assert module.report.cycles is None


@pytest.mark.parametrize("count", [0, 1, 5, N])
def test_scalars_and_quotients_that_decide(count: int):
    module = hardware(df.customize(programs.divided))
    given = np.random.default_rng(count).integers(0, 99, N).astype(np.int32)
    arguments = count, given, np.zeros(N, np.int32)
    assert foretold(module, *arguments) == measured(module, *arguments)


@pytest.mark.parametrize("pipelined", [(), ("source_0:j",), ("source_0:j", "sink_0:m")])
def test_values_at_places_that_move_with_counters(pipelined: tuple[str, ...]):
    s = df.customize(programs.windows)
    for loop in pipelined:
        s.pipeline(loop)
    module = hardware(s)
    for seed in range(4):
        given = np.random.default_rng(seed).integers(0, 9, 40).astype(np.int32)
        arguments = given, given.copy(), np.zeros(72, np.int32)
        assert foretold(module, *arguments) == measured(module, *arguments)


def test_the_arguments_of_a_prediction_stay_as_they_are():
    module = hardware(df.customize(programs.filtered))
    given, result = words(1, 2, 3), words()
    module.predict(given, result)
    assert np.array_equal(given, words(1, 2, 3)) and not result.any()


def test_other_depths_are_retimed():
    """The model of one build tells of every depth what the build with this depth takes."""
    module = hardware(programs.bursts(N))
    found = module.predict()
    for depth in (8, N - 1, N + 1, 40):
        other = hardware(programs.bursts(depth))
        cycles = measured(other, words(), words())
        if cycles is None:
            with pytest.raises(DeadlockError, match="total_0 for a word of s"):
                found.retime({"t": depth})
        else:
            assert found.retime({"t": depth}).cycles == cycles


@pytest.mark.parametrize("name", ["summed", "both_write"])
def test_the_first_run_copies_first_values_and_the_next_ones_do_not(name: str):
    module = hardware(df.customize(getattr(handed, name)))
    given = [np.ones(handed.N, np.int32), np.zeros(handed.N, np.int32)]
    cycles = []
    for _ in range(3):
        cycles.append(foretold(module, *given))
        assert measured(module, *given) == cycles[-1]
    assert cycles[0] > cycles[1] == cycles[2]
    assert module.report.cycles == cycles[0]
    assert any("those of the first run" in note for note in module.report.notes)
    module.reset()
    assert foretold(module, *given) == measured(module, *given) == cycles[0]


def test_what_earlier_runs_left_and_decides_is_not_foretold():
    @df.region()
    def longer(B: int32[1]):
        pipe: Stream[int32, 2]

        @df.kernel(mapping=[1])
        def give():
            turns: int32 @ Stateful = 1
            total: int32 = 0
            for i in range(turns):
                total += i * i
            turns += 3
            pipe.put(total)

        @df.kernel(mapping=[1], args=[B])
        def take(b: int32[1]):
            b[0] = pipe.get()

    module = hardware(df.customize(longer))
    result = np.zeros(1, np.int32)
    first = foretold(module, result)
    assert measured(module, result) == first
    with pytest.raises(PredictionError) as error:
        module.predict(result)
    assert "because a value that earlier runs left decides what it does" in str(error.value)
    assert "turns: int32 @ Stateful = 1" in str(error.value)
    assert measured(module, result) > first
    module.reset()
    assert foretold(module, result) == first


def test_a_net_that_stands_still_says_who_waits_for_whom():
    module = hardware(df.customize(programs.crossed))
    with pytest.raises(DeadlockError) as error:
        module.predict()
    assert "left_0 for a word of t, right_0 for a word of s" in str(error.value)
    assert measured(module, words(), words()) is None


def test_a_fault_of_the_model_is_seen(monkeypatch: pytest.MonkeyPatch):
    """Were a step of a body to take no time, every comparison here would fail."""
    module = hardware(df.customize(programs.pipe))
    cycles = measured(module, words(), words())
    assert foretold(module) == cycles
    true = variants.steps_code

    def planted(*given: Any) -> list[int]:
        code = true(*given)
        code[-1] += 1
        return code

    monkeypatch.setattr(tracer, "steps_code", planted)
    assert foretold(module) != cycles
