"""size_fifos: the smallest depths keep the cycles, in the model and in simulation."""

from __future__ import annotations

import numpy as np
import pytest

import allo
import allo.dataflow as df
from allo.errors import DeadlockError, PredictionError, ScheduleError
from allo.ir.types import int8, int32
from allo.library.systolic_array import schedule_systolic_array, systolic_array
from tests.dataflow.networks import random_network, schedule_of

from . import programs
from .programs import N, foretold, hardware, measured, words


@pytest.mark.parametrize("depth", [1, 40])
def test_a_way_round_a_sum_holds_all_but_one(depth: int):
    """Depth 1 deadlocks, and 40 is too much."""
    s = programs.bursts(depth)
    found = s.size_fifos()
    assert {fifo.name: fifo.after for fifo in found.fifos} == {"s": 1, "t": N - 1, "u": 2}
    assert found.cycles == found.unbounded == measured(hardware(s), words(), words())
    assert (found.before is None) == (depth == 1)
    assert found.bits == 32 * (N + 2)


def doubled(A: int32[4, 8]) -> int32[4, 8]:
    B: int32[4, 8]
    for i, j in allo.grid(4, 8):
        B[i, j] = A[i, j] * 2
    return B


def backwards(A: int32[4, 8]) -> int32[4, 8]:
    """Each row the other way round, so that it has come whole before a word of it goes."""
    B: int32[4, 8]
    row: int32[8]
    for i in range(4):
        for j in range(8):
            row[j] = A[i, j]
        for k in range(8):
            B[i, k] = row[7 - k]
    return B


def parted(X: int32[4, 8], A: int32[4, 8], B: int32[4, 8]):
    for i, j in allo.grid(4, 8):
        A[i, j] = X[i, j]
        B[i, j] = X[i, j]


def summed(A: int32[4, 8], B: int32[4, 8]) -> int32[4, 8]:
    C: int32[4, 8]
    for i, j in allo.grid(4, 8):
        C[i, j] = A[i, j] + B[i, j]
    return C


def around(X: int32[4, 8]) -> int32[4, 8]:
    A: int32[4, 8]
    B: int32[4, 8]
    parted(X, A, B)
    C = backwards(A)
    D = summed(C, B)
    return doubled(D)


def test_arrays_that_are_fifos_get_their_depths():
    """The way round a layer that keeps rows holds most of a row; a build makes a region of the calls."""
    s = allo.customize(around)
    for array, reader in (("A", "backwards"), ("B", "summed"), ("C", "summed"), ("D", "doubled")):
        s.to(getattr(s, array), reader, depth=32)
    found = s.size_fifos()
    depths = {fifo.name: fifo.after for fifo in found.fifos}
    assert 7 <= depths["B"] < 32 and found.bits < found.bits_before
    words = np.arange(32, dtype=np.int32).reshape(4, 8)
    module = hardware(s)
    assert (module(words) == 2 * (words + words[:, ::-1])).all()
    assert module.cycles == found.cycles == found.unbounded
    again = s.size_fifos()
    assert {fifo.name: fifo.before for fifo in again.fifos} == depths


def test_no_fifo_can_be_smaller():
    s = programs.bursts(N)
    found = s.size_fifos()
    prediction = hardware(s).predict()
    for fifo in found.fifos:
        if fifo.after == 1:
            continue
        try:
            assert prediction.retime({fifo.name: fifo.after - 1}).cycles > found.cycles
        except DeadlockError:
            continue


def test_a_loss_saves_bits():
    tight, loose = programs.bursts(N), programs.bursts(N)
    exact, allowed = tight.size_fifos(), loose.size_fifos(loss=0.3)
    assert allowed.bits < exact.bits
    assert exact.cycles < allowed.cycles <= 1.3 * exact.cycles
    assert allowed.cycles == measured(hardware(loose), words(), words())


def test_a_systolic_array_becomes_faster_and_smaller():
    shape = [int8, int8, int32, 3, 12, 3]
    s = schedule_systolic_array(df.customize(systolic_array, instantiate=shape))
    found = s.size_fifos()
    assert found.before is not None
    assert found.cycles == found.unbounded <= found.before
    a, b = np.ones((3, 12), np.int8), np.ones((12, 3), np.int8)
    c = np.zeros((3, 3), np.int32)
    assert measured(hardware(s), a, b, c) == found.cycles
    assert (c == 12).all()


@pytest.mark.parametrize("seed", [0, 3, 7, 26])
def test_random_networks(seed: int):
    network = random_network(seed)
    s = schedule_of(network)
    try:
        found = s.size_fifos()
    except DeadlockError as error:
        assert "however deep the FIFOs are" in str(error)
        return
    arrays = [np.zeros(1, np.int32) for _ in network.processes]
    assert measured(hardware(s), *arrays) == found.cycles == found.unbounded


def test_values_that_decide_are_given():
    s = df.customize(programs.filtered)
    with pytest.raises(PredictionError) as error:
        s.size_fifos()
    assert "`size_fifos(inputs=[A, B])`" in str(error.value)
    given = words(1, 2, 4, 5, 7), words()
    found = s.size_fifos(inputs=given)
    module = hardware(s)
    assert measured(module, *given) == found.cycles == foretold(module, *given)


def test_a_net_that_no_depth_helps_says_who_waits_for_whom():
    with pytest.raises(DeadlockError) as error:
        df.customize(programs.crossed).size_fifos()
    assert "left_0 for a word of t, right_0 for a word of s" in str(error.value)


@pytest.mark.parametrize("loss", [-0.1, float("inf"), "none", True])
def test_a_loss_that_is_none(loss: object):
    with pytest.raises(ScheduleError, match="the loss must be a number of at least 0"):
        df.customize(programs.pipe).size_fifos(loss=loss)  # type: ignore[arg-type]


def test_the_table_says_what_was_found():
    table = str(programs.bursts(40).size_fifos())
    assert "38 cycles; 38 with FIFOs that are never full" in table
    assert "448 bits; before 1,472" in table
