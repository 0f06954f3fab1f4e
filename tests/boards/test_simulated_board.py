"""Designs behind the serial shell of a board, called by the host's own code through a pseudo-terminal."""

from __future__ import annotations

import errno
import os
import re

import numpy as np
import pytest

import allo
from allo.boards import connect, simulate
from allo.boards.host import link
from allo.errors import BoundaryError, LineError, PortError
from allo.ir.types import int8, int16, int32


def gemm(A: int8[8, 8], B: int8[8, 8]) -> int32[8, 8]:
    C: int32[8, 8] = 0
    for i, j, k in allo.grid(8, 8, 8):
        C[i, j] += A[i, k] * B[k, j]
    return C


def fir(x: int16[32], h: int16[4], y: int32[32], gain: int32) -> int32:
    last: int32 = 0
    for n in range(3, 32):
        sum: int32 = 0
        for t in range(4):
            sum += x[n - t] * h[t]
        last = sum * gain
        y[n] = last
    return last


def hardware(kernel, *partitioned):
    s = allo.customize(kernel)
    for array in partitioned:
        s.partition(f"{kernel.__name__}:{array}", dim=1)
    return s.build(target="verilog", clock_mhz=100, device="ecp5"), s.build()


def random_call(rng):
    return [rng.integers(-128, 128, (8, 8), dtype=np.int8) for _ in range(2)]


@pytest.fixture(scope="module")
def board():
    mod, cpu = hardware(gemm)
    with simulate(mod) as port:
        yield mod, cpu, port


def test_calls_give_every_element_and_the_cycles_of_the_simulator(board):
    mod, cpu, port = board
    rng = np.random.default_rng(1)
    with connect(port, mod) as device:
        for _ in range(20):
            A, B = random_call(rng)
            np.testing.assert_array_equal(device(A, B), cpu(A, B))
        mod(A, B, simulator="jit")
        assert device.cycles == mod.cycles


def test_a_damaged_line_is_mended_by_sending_again(board):
    mod, cpu, port = board
    rng = np.random.default_rng(2)
    with connect(port, mod, patience=0.05) as device:
        port.errors(flip=400, lose=400, double=400, seed=3)
        try:
            for _ in range(40):
                A, B = random_call(rng)
                np.testing.assert_array_equal(device(A, B), cpu(A, B))
        finally:
            port.errors()
        assert device.repeated > 0


def test_arrays_in_banks_in_place_and_scalars_both_ways():
    mod, cpu = hardware(fir, "h")
    rng = np.random.default_rng(3)
    with simulate(mod) as port, connect(port, mod) as device:
        for _ in range(5):
            x, h = (rng.integers(-99, 99, n, dtype=np.int16) for n in (32, 4))
            got = rng.integers(-9, 9, 32, dtype=np.int32)
            want = got.copy()
            gain = int(rng.integers(-5, 5))
            assert device(x, h, got, gain) == cpu(x, h, want, gain)
            np.testing.assert_array_equal(got, want)


def test_a_reset_before_a_call_is_refused_by_name(board):
    mod, cpu, port = board
    A, B = random_call(np.random.default_rng(4))
    with connect(port, mod) as device:
        port.press_reset()
        with pytest.raises(LineError, match="in the middle of a transfer: nothing was started"):
            device(A, B)
    with connect(port, mod) as device:
        np.testing.assert_array_equal(device(A, B), cpu(A, B))


def test_another_design_is_refused_by_its_digest(board):
    _, _, port = board
    other, _ = hardware(fir)
    with pytest.raises(PortError, match="holds another design than fir"):
        connect(port, other)


def test_a_port_in_use_is_refused(board):
    mod, _, port = board
    with connect(port, mod), pytest.raises(PortError, match="Another process has the port"):
        connect(port, mod)


def test_no_device(tmp_path):
    mod, _ = hardware(gemm)
    with pytest.raises(PortError, match="There is no device at /dev/no_such_port"):
        connect("/dev/no_such_port", mod)
    (tmp_path / "file").touch()
    with pytest.raises(PortError, match="is no serial port that takes 1000000 baud"):
        connect(str(tmp_path / "file"), mod)


@pytest.mark.parametrize(
    ("code", "message", "help_"),
    [
        (
            errno.EACCES,
            "You may not open",
            r'usermod .* udev rule `SUBSYSTEM=="tty", ATTRS\{idVendor',
        ),
        (errno.EBUSY, "Another process has the port", "end it"),
    ],
)
def test_a_port_that_cannot_be_opened(monkeypatch, code, message, help_):
    mod, _ = hardware(gemm)

    def refused(port, flags):
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(link.os, "open", refused)
    with pytest.raises(PortError, match=message) as failure:
        connect("/dev/ttyUSB0", mod)
    assert re.search(help_, failure.value.help)


def test_arguments_are_checked_as_by_the_simulator(board):
    mod, _, port = board
    with connect(port, mod) as device, pytest.raises(BoundaryError, match="mismatch, got 1"):
        device(np.zeros((8, 8), np.int8))


def test_a_pulled_cable_is_named():
    mod, _ = hardware(gemm)
    A, B = random_call(np.random.default_rng(5))
    with simulate(mod) as port, connect(port, mod) as device:
        port.pull()
        with pytest.raises(LineError, match="nothing was started"):
            device(A, B)


def collatz(n: int32) -> int32:
    steps: int32 = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps


def test_a_run_without_an_end_is_given_up():
    mod, cpu = hardware(collatz)
    with simulate(mod) as port, connect(port, mod, timeout=0.3) as device:
        assert device(27) == cpu(27) == 111
        with pytest.raises(PortError, match=r"The run on the board has not ended after 0\.3 s"):
            device(0)
        device.reset()
        assert device(7) == 16
