"""Streams as arguments of a region, on every target: arrays of words go in, and are filled."""

from __future__ import annotations

import numpy as np
import pytest

import allo
import allo.dataflow as df
from tests.dataflow.ports import programs

TARGETS = {
    "simulator": {"target": "simulator"},
    "csim": {"target": "vhls"},
    "jit": {"target": "verilog", "simulator": "jit"},
}
EVERYWHERE = ("interpret", *TARGETS)


def _build(region, target: str):
    return allo.interpret(region) if target == "interpret" else df.build(region, **TARGETS[target])


def _ints(*values: int) -> np.ndarray:
    return np.array(values, np.int32)


@pytest.mark.parametrize("target", EVERYWHERE)
def test_a_word_goes_in_and_a_word_comes_out(target):
    module = _build(programs.once, target)
    for first in (3, -8):
        b = np.zeros(2, np.int32)
        module(_ints(first, 99), b)
        np.testing.assert_array_equal(b, [first + 1, 0])
        assert module.words["B"] == 1


@pytest.mark.parametrize("target", EVERYWHERE)
def test_a_scalar_tells_how_many(target):
    module = _build(programs.counted, target)
    a = np.arange(10, dtype=np.int32)
    for n in (7, 0, 10):
        b, total = np.full(10, -1, np.int32), np.zeros(1, np.int32)
        module(a, b, total, n)
        np.testing.assert_array_equal(b, np.where(np.arange(10) < n, 2 * a, -1))
        assert total[0] == 2 * a[:n].sum() and module.words["B"] == n


@pytest.mark.parametrize("target", EVERYWHERE)
def test_a_region_without_an_end_takes_what_there_is(target):
    module = _build(programs.forever, target)
    for count in (6, 1, 0, 9):
        a, b = np.arange(count, dtype=np.int32) + 250, np.zeros(8, np.int16)
        module(a, b)
        pairs = (a[: count // 2 * 2 : 2] * a[1::2] + 1).astype(np.int16)
        np.testing.assert_array_equal(
            b, np.concatenate([pairs, np.zeros(8 - len(pairs), np.int16)])
        )
        assert module.words == {"A": count, "B": count // 2}


@pytest.mark.parametrize("target", EVERYWHERE)
def test_packets_without_a_bound(target):
    module = _build(programs.packets, target)
    b = np.zeros(5, np.int32)
    module(_ints(1, 2, 3, 0, 0, 10, 20, 0, 5), b)
    np.testing.assert_array_equal(b[:3], [6, 0, 30])
    assert module.words == {"A": 9, "B": 3}


@pytest.mark.parametrize("target", EVERYWHERE)
def test_the_shorter_of_two_streams_ends_the_run(target):
    module = _build(programs.joined, target)
    c = np.zeros(9, np.int32)
    module(_ints(1, 2, 3, 4, 5), _ints(10, 20, 30), c)
    np.testing.assert_array_equal(c[:3], [11, 22, 33])
    assert module.words["C"] == 3


@pytest.mark.parametrize("target", EVERYWHERE)
def test_a_full_array_ends_the_run(target):
    b = np.zeros(5, np.int32)
    module = _build(programs.generated, target)
    module(b)
    np.testing.assert_array_equal(b, np.arange(5))
    assert module.words == {"B": 5}


@pytest.mark.parametrize("target", EVERYWHERE)
def test_a_process_that_ends_ends_the_region(target):
    a, b = np.arange(6, dtype=np.int32) * 3, np.zeros(6, np.int32)
    answers = np.zeros(1, np.int32)
    _build(programs.served, target)(a, b, np.array([4, 1], np.int8), answers)
    np.testing.assert_array_equal(b, a - 1)
    assert answers[0] in (0, 44)


@pytest.mark.parametrize("target", EVERYWHERE)
def test_blocks(target):
    a = np.random.default_rng(0).random((3, 2, 3), np.float32)
    b = np.zeros((4, 3), np.float32)
    module = _build(programs.blocks, target)
    module(a, b)
    np.testing.assert_array_equal(b[:3], a[:, 0] + a[:, 1])
    assert module.words == {"A": 3, "B": 3} and not b[3].any()


@pytest.mark.parametrize("target", EVERYWHERE)
def test_words_of_any_width(target):
    numbers = [5 << 65, -(3 << 65), (9 << 65) + 1]
    rows = b"".join(number.to_bytes(9, "little", signed=True) for number in numbers)
    a = np.frombuffer(rows, np.dtype([(f"f{k}", np.uint8) for k in range(9)])).copy()
    b = np.zeros(3, np.int8)
    _build(programs.odd, target)(a, b)
    np.testing.assert_array_equal(b, [5, -3, 9])


@pytest.mark.parametrize("target", EVERYWHERE)
def test_structs(target):
    a = np.array([(5, 7), (-300, 12)], np.dtype([("x", np.int16), ("y", np.int16)]))
    b = np.zeros(2, np.int32)
    _build(programs.fields, target)(a, b)
    np.testing.assert_array_equal(b, [-2, -312])


@pytest.mark.parametrize("target", EVERYWHERE)
def test_a_process_that_polls_its_input(target):
    b = np.zeros(4, np.int32)
    module = _build(programs.polled, target)
    module(_ints(1, 2, 3), b)
    np.testing.assert_array_equal(b, [8, 9, 10, 0])
    assert module.words["B"] == 3


def test_verilator_and_stalls_outside_change_nothing():
    from allo.backend.sim import StreamModel

    module = df.customize(programs.forever).build(
        target="verilog", streams={"A": StreamModel(stall=0.5), "B": StreamModel(stall=0.3)}
    )
    a, b = np.arange(12, dtype=np.int32), np.zeros(6, np.int16)
    module(a, b)
    np.testing.assert_array_equal(b, a[::2] * a[1::2] + 1)
    assert module.words == {"A": 12, "B": 6} and module.cycles > 12
