"""Streams of a region that stay open: words in pieces, against one call of the simulator with all of them."""

from __future__ import annotations

import numpy as np
import pytest

import allo.dataflow as df
from allo.boards import connect, simulate
from allo.boards.host.streams import End, Streams
from allo.errors import BoundaryError, DeadlockError, LineError
from allo.ir.types import Stream, int8, int32

from .soaked import streams
from .test_streams import packets


@df.region()
def scaled(A: Stream[int8[4], 2], B: Stream[int32, 2], gain: int32[1]):
    @df.kernel(mapping=[1], args=[gain])
    def scale(by: int32[1]):
        total: int32 = 0
        while True:
            x: int8[4] = A.get()
            for k in range(4):
                total += x[k] * by[0]
            B.put(total)


def test_words_in_pieces_are_those_of_one_call_of_the_simulator() -> None:
    module = df.build(packets, target="verilog")
    rng = np.random.default_rng(1)
    sent = rng.integers(-2, 3, 3000, dtype=np.int32)
    expected = np.zeros(int((sent == 0).sum()), np.int32)
    module(sent, expected, simulator="jit")
    found, at, taken = np.full_like(expected, 77), 0, 0
    with simulate(module) as port, connect(port, module) as device:
        port.errors(flip=100, lose=100, double=100, seed=5)
        with device.open() as opened:
            while at < len(sent):
                piece = sent[at : at + int(rng.integers(0, 900))]
                opened.put("A", piece)
                at += len(piece)
                ready = int((sent[:at] == 0).sum())
                most = int(rng.integers(taken, ready + 1))
                opened.get("B", found[taken:most])
                taken = most
            opened.get("B", found[taken:])
        np.testing.assert_array_equal(found, expected)
        assert device.repeated > 0
        with device.open() as opened:  # in its first state again
            opened.put("A", np.array([5], np.int32))
        with device.open() as opened:
            opened.put("A", np.array([1, 0], np.int32))
            opened.get("B", last := np.zeros(1, np.int32))
        assert last[0] == 1
        whole, opened = np.zeros_like(expected), device.open()
        device(sent, whole)  # which closes them
        np.testing.assert_array_equal(whole, expected)
        with pytest.raises(BoundaryError, match="The streams of packets are closed"):
            opened.put("A", sent)


def test_blocks_and_arguments_that_are_no_streams() -> None:
    module = df.build(scaled, target="verilog")
    rng = np.random.default_rng(2)
    X, gain = rng.integers(-128, 128, (700, 4), dtype=np.int8), np.array([-3], np.int32)
    expected = np.cumsum(X.sum(axis=1, dtype=np.int32) * -3, dtype=np.int32)
    found = np.zeros(700, np.int32)
    with (
        simulate(module) as port,
        connect(port, module) as device,
        device.open(gain=gain) as opened,
    ):
        for at in range(0, 700, 350):
            opened.put("A", X[at : at + 350])
            opened.get("B", found[at : at + 350])
    np.testing.assert_array_equal(found, expected)


def test_words_that_the_host_drops_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """A planted fault: the second piece is sent to the place of the first."""
    module = df.build(packets, target="verilog")
    monkeypatch.setattr(End, "more", End.begin)
    with (
        simulate(module) as port,
        connect(port, module, timeout=0.3) as device,
        pytest.raises((DeadlockError, AssertionError)),
        device.open() as opened,
    ):
        for piece in ([4, 5, 6], [7, 0]):
            opened.put("A", np.array(piece, np.int32))
        opened.get("B", total := np.zeros(1, np.int32))
        assert total[0] == 22


def test_what_cannot_be_opened_or_passed_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    module, ending = df.build(packets, target="verilog"), streams().module
    with simulate(ending) as port, connect(port, ending) as device:
        with pytest.raises(
            BoundaryError, match="The run of sums has an end, with which its streams"
        ):
            device.open()
    with simulate(module) as port, connect(port, module, timeout=0.3) as device:
        opened = device.open()
        with pytest.raises(BoundaryError, match="No stream 'B' of packets takes words"):
            opened.put("B", np.zeros(1, np.int32))
        with pytest.raises(BoundaryError, match="No stream 'b' of packets gives words") as failure:
            opened.get("b", np.zeros(1, np.int32))
        assert failure.value.help == "there is B."
        before = np.full(2, 9, np.int32)
        opened.put("A", np.array([1, 2, 0, 4], np.int32))
        with pytest.raises(DeadlockError, match="0.3 s, and the host waits to get 2 words from B"):
            opened.get("B", before)
        assert before.tolist() == [9, 9]
        opened.put("A", np.array([0], np.int32))  # the region is as it was
        opened.get("B", before)
        assert before.tolist() == [3, 4]

        def lost(*_: object) -> None:
            raise LineError("the line was lost")

        monkeypatch.setattr(Streams, "look", lost)
        with pytest.raises(LineError, match="The line was lost: the state of the region is lost"):
            opened.get("B", before)
        with pytest.raises(BoundaryError, match="The streams of packets are closed"):
            opened.put("A", before)
