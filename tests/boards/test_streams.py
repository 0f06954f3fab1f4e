"""Regions with stream arguments behind the serial shell: the words, counts and errors of the simulator."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import allo.dataflow as df
from allo.boards import connect, simulate
from allo.boards.host.device import Device
from allo.errors import BoundaryError, DeadlockError, LineError
from allo.ir.types import Stream, int32

from .soaked import streams


@df.region()
def packets(A: Stream[int32, 2], B: Stream[int32, 2]):
    @df.kernel(mapping=[1], args=[])
    def add():
        total: int32 = 0
        while True:
            x: int32 = A.get()
            total += x
            if x == 0:
                B.put(total)
                total = 0


def test_a_region_without_an_end_passes_the_words_of_the_simulator() -> None:
    module = df.build(packets, target="verilog")
    rng = np.random.default_rng(1)
    with simulate(module) as port, connect(port, module) as device:
        for count, room in ((8, 4), (1500, 700), (1500, 100), (0, 3), (40, 0), (8, 4)):
            sent = rng.integers(-3, 4, count, dtype=np.int32)
            found, expected = np.full(room, 7, np.int32), np.full(room, 7, np.int32)
            device(sent, found)
            module(sent, expected, simulator="jit")
            np.testing.assert_array_equal(found, expected)
            assert device.words == module.words
        assert device.cycles == module.cycles


def test_a_region_with_an_end_keeps_its_state_and_leaves_words_where_they_are() -> None:
    calls = streams()
    rng = np.random.default_rng(2)
    with simulate(calls.module) as port:
        with connect(port, calls.module, timeout=0.5) as device:
            for _ in range(8):
                given, expected, _ = calls.draw(rng)
                device(*given)
                for a, b in zip(given, expected, strict=True):
                    np.testing.assert_array_equal(a, b)
                count = int(given[0][0])
                assert device.words == {"X": count, "Y": count}
            n, X, Y, last = np.array([5], np.int32), given[1][:3], np.zeros(9, np.int32), given[3]
            X = np.ones((3, 4), np.int8)
            with pytest.raises(DeadlockError, match=r"passed for 0\.5 s, and") as failure:
                device(n, X, Y, last)
            assert failure.value.notes == (
                "stream X fed 3 of 3 words.",
                "stream Y took 3 of 9 words.",
            )
            assert not Y.any()
            with pytest.raises(BoundaryError, match="mismatch, got 2"):
                device(n, X)
            calls.begin()  # a run that was given up leaves the core in its first state
            given, expected, _ = calls.draw(rng)
            device(*given)
            np.testing.assert_array_equal(given[2], expected[2])
        with connect(port, calls.module) as device:
            port.press_reset()
            with pytest.raises(LineError, match="nothing was started"):
                device(*given)


def test_a_call_that_is_lost_behind_its_last_word_changes_no_array(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The words had come, and were given to the call before the arrays were read: a soak of 10,000 calls."""

    def lost(device: Device) -> Any:
        raise LineError("the line was lost")

    calls = streams()
    rng = np.random.default_rng(4)
    with simulate(calls.module) as port:
        device = connect(port, calls.module)
        given, _, _ = calls.draw(rng)
        while not given[0][0]:
            given, _, _ = calls.draw(rng)
        before = [a.copy() for a in given]
        with monkeypatch.context() as patch:
            patch.setattr(Device, "_receive", lost)
            with pytest.raises(LineError, match="the arrays of the call are as before"):
                device(*given)
        for a, b in zip(given, before, strict=True):
            np.testing.assert_array_equal(a, b)
        calls.begin()
        given, expected, _ = calls.draw(rng)
        device(*given)
        for a, b in zip(given, expected, strict=True):
            np.testing.assert_array_equal(a, b)
        device.close()
