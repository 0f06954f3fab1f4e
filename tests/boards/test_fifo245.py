"""Calls through the FIFO of an FT232H, whose model holds the board to FTDI's data sheet."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import allo
import allo.dataflow as df
from allo import boards
from allo.boards import connect, simulate
from allo.boards.flow import make
from allo.boards.model import board as model
from allo.boards.model import netlist
from allo.errors import BoardError, LineError, OptionError, SimulationError
from allo.ir.types import int8, int32

from .soaked import axpy, streams, sums


def gemm(A: int8[8, 8], B: int8[8, 8]) -> int32[8, 8]:
    C: int32[8, 8] = 0
    for i, j, k in allo.grid(8, 8, 8):
        C[i, j] += A[i, k] * B[k, j]
    return C


def built(**options):
    return allo.customize(gemm).build(target="verilog", link="fifo245", **options)


@pytest.mark.parametrize("clock_mhz", [12, 50, 100])
def test_calls_with_arrays_are_those_of_the_cpu(clock_mhz: int) -> None:
    cpu, mod = allo.customize(gemm).build(), built(board="ulx3s-85f")
    rng = np.random.default_rng(clock_mhz)
    with simulate(mod, clock_mhz=clock_mhz) as port, connect(port, mod) as device:
        for _ in range(20):
            A, B = (rng.integers(-128, 128, (8, 8), dtype=np.int8) for _ in range(2))
            np.testing.assert_array_equal(device(A, B), cpu(A, B))
        assert device.repeated == 0


def test_streams_pass_while_the_region_runs() -> None:
    calls = streams()
    mod = df.build(sums, target="verilog", board="ulx3s-85f", link="fifo245")
    rng = np.random.default_rng(2)
    with simulate(mod) as port, connect(port, mod) as device:
        for _ in range(8):
            given, expected, _ = calls.draw(rng)
            device(*given)
            for got, want in zip(given, expected, strict=True):
                np.testing.assert_array_equal(got, want)
            assert device.words == {"X": int(given[0][0]), "Y": int(given[0][0])}


def test_arrays_in_the_memory_of_a_board_pass_through_the_fifo() -> None:
    schedule = allo.customize(axpy)
    cpu = schedule.build()
    ports = {"interface": dict.fromkeys("XYZ", "m_axi")}
    mod = schedule.build(target="verilog", board="ulx3s-85f", link="fifo245", configs=ports)
    rng = np.random.default_rng(4)
    with simulate(mod) as port, connect(port, mod) as device:
        for factor in (3, -7):
            X = rng.integers(-99, 99, 300, dtype=np.int16)
            Y, Z = rng.integers(-99, 99, 300, dtype=np.int32), np.arange(7, dtype=np.int8)
            y, z = Y.copy(), Z.copy()
            assert device(factor, X, Y, Z) == cpu(factor, X, y, z)
            np.testing.assert_array_equal(Y, y)
            np.testing.assert_array_equal(Z, z)


def test_a_damaged_line_gives_no_wrong_call() -> None:
    cpu, mod = allo.customize(gemm).build(), built()
    rng = np.random.default_rng(3)
    right = refused = 0
    with simulate(mod) as port, connect(port, mod, patience=0.05) as device:
        port.errors(flip=400, lose=400, double=400, seed=3)
        for _ in range(100):
            A, B = (rng.integers(-128, 128, (8, 8), dtype=np.int8) for _ in range(2))
            try:
                np.testing.assert_array_equal(device(A, B), cpu(A, B))
                right += 1
            except LineError:
                refused += 1
        port.errors()
        assert device.repeated > 0
    assert right >= 50 and right + refused == 100


@pytest.mark.parametrize(
    ("sound", "planted", "rule"),
    [
        ("count <= LOW - 1;\n          state <= READ;", "count <= 0;\n          state <= READ;", 103),
        ("count <= LOW - 1;\n          state <= WRITE;", "count <= 0;\n          state <= WRITE;", 107),
        ("rx_ready && !empty[1]", "rx_ready", 101),
        ("state == REST && !full[1]", "state == REST", 104),
        ("d_drive <= 1'b1;", "", 105),
        ("wr_n <= 1'b1;\n          count", "wr_n <= 1'b1; d_drive <= 1'b0;\n          count", 106),
        ("        d_drive <= 1'b0;\n          count", "          count", 102),
    ],
)  # fmt: skip
def test_a_board_that_breaks_a_rule_of_the_chip_is_seen(monkeypatch, sound, planted, rule) -> None:
    honest = model.shell_of

    def changed(*given):
        shell = honest(*given)
        assert sound in shell.verilog
        return replace(shell, verilog=shell.verilog.replace(sound, planted, 1))

    monkeypatch.setattr(model, "shell_of", changed)
    mod = built()
    with (
        pytest.raises(SimulationError, match=r"gemm broke a rule of the FT232H") as caught,
        simulate(mod, clock_mhz=100) as port,
        connect(port, mod, patience=0.05) as device,
    ):
        device(np.ones((8, 8), np.int8), np.ones((8, 8), np.int8))
    assert model.fifo.RULES[rule] in str(caught.value)


def test_a_board_without_the_pins_names_those_that_have_them() -> None:
    with pytest.raises(BoardError) as caught:
        built(board="upduino-3")
    said = str(caught.value)
    assert "The board 'upduino-3' has no pin for 'fifo_d[0]', which link='fifo245' needs." in said
    assert "ulx3s-85f, icebreaker" in said
    with pytest.raises(OptionError, match="'uart' or 'fifo245'"):
        allo.customize(gemm).build(target="verilog", link="fifo")


def called_netlist(board: str, stage: str, calls: int) -> None:
    cpu, mod = allo.customize(gemm).build(), built(board=board)
    mhz = boards.board(board).oscillator_mhz
    rng = np.random.default_rng(9)
    with (
        simulate(mod, netlist=stage, clock_mhz=mhz) as port,
        connect(port, mod, patience=10) as device,
    ):
        for _ in range(calls):
            A, B = (rng.integers(-128, 128, (8, 8), dtype=np.int8) for _ in range(2))
            np.testing.assert_array_equal(device(A, B), cpu(A, B))


@pytest.mark.parametrize("board", ["icebreaker", "ulx3s-12f"])
@pytest.mark.parametrize("stage", ["synthesised", "routed"])
def test_a_netlist_behind_the_chip_gives_the_bits_of_the_cpu(board: str, stage: str) -> None:
    called_netlist(board, stage, 100)


def test_a_netlist_that_never_lets_go_of_the_bus_is_seen(monkeypatch) -> None:
    pads = {kind: replace(pad, on="", off="") for kind, pad in netlist._PADS.items()}
    monkeypatch.setattr(netlist, "_PADS", pads)
    with pytest.raises(SimulationError, match="the board drives no byte while RD# is low"):
        called_netlist("icebreaker", "synthesised", 1)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "cell", "enable"), [
    ("icebreaker", "SB_IO", "OUTPUT_ENABLE"), ("ulx3s-85f", "TRELLIS_IO", "T"),
])  # fmt: skip
def test_eight_pins_of_a_routed_board_have_three_states(name: str, cell: str, enable: str) -> None:
    mod = built(board=name)
    found = make.netlist(mod, boards.board(name), clock_mhz=None, routed=True, timeout=900)
    top = max(found.modules["modules"].values(), key=lambda m: len(m.get("cells", {})))
    buffers = [c["connections"] for c in top["cells"].values() if c["type"] == cell]
    assert len([c for c in buffers if c.get(enable) and isinstance(c[enable][0], int)]) == 8
