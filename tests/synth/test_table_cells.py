"""Whole tables are cells for synthesis, and what they compute for simulation."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

import allo
from allo.backend import devices
from allo.backend.rtl.export.table_cells import table_module, with_tables
from allo.backend.synth.tools import find_yosys, run
from allo.errors import ToolFailedError
from allo.ir.types import UInt, uint8

CELLS = devices.family("xcup").cells
WORDS = random.Random(3).getrandbits(64)


def proved(folder: Path, cell: str) -> str:
    """Prove that the cell of Yosys's own library does what the text for simulation says, as Yosys prints."""
    (folder / "cell.sv").write_text(cell)
    (folder / "text.sv").write_text(table_module(CELLS))
    words = f"chparam -set WORDS 64'h{WORDS:x} allo_table_6"
    script = (
        f"read_verilog -sv cell.sv; read_verilog +/xilinx/cells_sim.v; {words}; "
        "hierarchy -top allo_table_6; proc; flatten; delete t:$specify*; rename -top cell; "
        f"design -stash cell; read_verilog -sv -nosynthesis text.sv; {words}; "
        "hierarchy -top allo_table_6; proc; rename -top text; design -stash text; "
        "design -copy-from cell cell; design -copy-from text text; "
        "miter -equiv -flatten cell text both; hierarchy -top both; sat -verify -prove trigger 0 both"
    )
    return run(find_yosys(), ["-p", script], folder, what="Proof", timeout=300)


def test_a_cell_is_what_its_text_says(tmp_path: Path) -> None:
    assert "no model found: SUCCESS" in proved(tmp_path, table_module(CELLS))


def test_exchanged_pins_are_seen(tmp_path: Path) -> None:
    """The planted fault."""
    wrong = table_module(CELLS).replace(".I0(a[0]), .I1(a[1])", ".I0(a[1]), .I1(a[0])")
    assert wrong != table_module(CELLS)
    with pytest.raises(ToolFailedError):
        proved(tmp_path, wrong)


def module(wire: str, read: str) -> str:
    return f"module m(\n  input [5:0] x,\n  output y\n);\n{wire}\n  assign y = {read};\nendmodule"


TABLE = "  wire [63:0] t = 64'hCAFE0123456789AB >> {58'h0, x};"
INSTANCE = """  wire t;
  allo_table_6 #(.WORDS(64'hCAFE0123456789AB)) t_table (.a({x}), .y(t));"""


def test_a_table_is_an_instance() -> None:
    assert with_tables(module(TABLE, "t[0] ^ t[0]"), CELLS) == module(INSTANCE, "t ^ t")
    through = f"  wire [63:0] p = {{58'h0, x}};\n{TABLE.replace("{58'h0, x}", 'p')}"
    assert ".a(p[5:0]), .y(t)" in with_tables(module(through, "t[0]"), CELLS)


@pytest.mark.parametrize(
    ("wire", "read"),
    [
        (TABLE, "t[1]"),
        (TABLE, "^t"),
        (TABLE.replace("{58'h0, x}", "{57'h0, x, x[0]}"), "t[0]"),
        (TABLE.replace("{58'h0, x}", "place"), "t[0]"),
        (TABLE.replace("{58'h0, x}", "place[6:0]"), "t[0]"),
        ("  wire [31:0] t = 32'hCAFE0123 >> {27'h0, x[4:0]};", "t[0]"),
    ],
    ids=["another bit", "all bits", "seven bits", "any place", "long field", "five inputs"],
)
def test_what_may_be_no_table_stays(wire: str, read: str) -> None:
    assert with_tables(module(wire, read), CELLS) == module(wire, read)


def neurons(x: UInt(2)[8, 6], y: uint8[8, 4]):
    for t in range(8):
        for j in range(4):
            total: uint8 = 0
            for i in range(3):
                total += x[t, j // 2 * 3 + i] * (i + j + 1)
            y[t, j] = total * total


def test_hardware_with_tables_gives_the_cpus_results() -> None:
    s = allo.customize(neurons)
    s.tabulate("j")
    s.partition(s.x, dim=2)
    s.partition(s.y, dim=2)
    s.pipeline("t")
    hardware = s.build(target="verilog", device="xcup")
    assert hardware.verilog.count("allo_table_6 #(") > 4
    assert "allo_table" not in s.build(target="verilog", device="ecp5").verilog
    x = np.random.default_rng(1).integers(0, 4, (8, 6)).astype(np.uint8)
    ours, theirs = np.zeros((8, 4), np.uint8), np.zeros((8, 4), np.uint8)
    hardware(x, ours)
    s.build()(x, theirs)
    np.testing.assert_array_equal(ours, theirs)
    weights = np.arange(3)[None] + np.arange(4)[:, None] + 1
    plain = (x.reshape(8, 2, 1, 3) * weights.reshape(1, 2, 2, 3)).sum(3).reshape(8, 4)
    np.testing.assert_array_equal(theirs, (plain * plain).astype(np.uint8))
