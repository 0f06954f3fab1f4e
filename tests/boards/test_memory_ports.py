"""The way from AXI4 masters to a board's SDRAM, under masters of cocotbext-axi, which others wrote."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import find_libpython
import pytest

from allo.backend.rtl.interfaces.board import Board, Master
from allo.boards.known.ulx3s import SDRAM
from allo.boards.model import sdram as model
from allo.boards.record import BoardMemory
from allo.boards.shell import outside
from allo.boards.shell.banks import MEMORY, REGISTERS, Bank
from tests.interfaces.cocotb_axi.outside import simulated
from tests.verilog.readers import HAS_ICARUS

pytestmark = pytest.mark.skipif(
    not (HAS_ICARUS and find_libpython.find_libpython()),
    reason="cocotb needs Icarus Verilog and Python as a library",
)
MHZ = 50.0
PART = replace(SDRAM, row_bits=11, power_up=2000)
MASTERS = (Master("a", 32, 16, 4, True, True), Master("b", 64, 16, 4, True, True))
SHELL = Path(outside.__file__).parent
TIMES = (
    "period",
    "power_up",
    "rcd",
    "rp",
    "ras",
    "rc",
    "rrd",
    "wr",
    "rfc",
    "refresh",
    "clock",
    "cas",
)
IN = {"ADDR": 64, "LEN": 8, "SIZE": 3, "BURST": 2, "VALID": 1, "ID": 1}


def bench() -> str:
    """The memory, its controller and the ports of two masters, whose other ends cocotb drives."""
    memory = BoardMemory("sdram", 8 << 20, 16, "a smaller one", PART)
    banks = [Bank(name, "", 0, 32, 16, True, True, slow=True) for name in (REGISTERS, MEMORY)]
    design = SimpleNamespace(board=Board("top_axi", "top", (), MASTERS))
    driven, made = {}, {}
    for master in MASTERS:
        for channel in ("AW", "AR"):
            driven |= {f"{master.prefix}_{channel}{name}": bits for name, bits in IN.items()}
            made[f"{master.prefix}_{channel}READY"] = 1
        driven |= {f"{master.prefix}_{n}": 1 for n in ("WVALID", "WLAST", "BREADY", "RREADY")}
        driven |= {
            f"{master.prefix}_WDATA": master.width,
            f"{master.prefix}_WSTRB": master.width // 8,
        }
        made |= {
            f"{master.prefix}_{n}": 1 for n in ("WREADY", "BVALID", "RVALID", "RLAST", "BID", "RID")
        }
        made |= {f"{master.prefix}_{n}": 2 for n in ("BRESP", "RRESP")}
        made[f"{master.prefix}_RDATA"] = master.width
    pins = outside.ports((memory, PART))
    joined = ", ".join(f".{r.removeprefix('sdram_')}({r})" for r, _, _ in pins if r != "sdram_clk")
    values = zip(TIMES, model.times(PART, MHZ), strict=True)
    return "\n".join(
        [
            "`timescale 1ns/1ps",
            "module bench;",
            "  reg link_clock = 0, reset_all = 1;",
            "  always #10 link_clock = !link_clock;",
            "  initial #3000000 $finish;",
            "  wire core_reset = reset_all;",
            "  wire awake_memory, done, waiting;",
            "  wire write = 0, fetch = 0, start = 0, bank = 0;",
            "  wire [23:0] word = 0;",
            "  wire [7:0] fault;",
            *(f"  wire [{bits - 1}:0] {role};" for role, bits, _ in pins),
            *(f"  reg [{bits - 1}:0] core_{name} = 0;" for name, bits in driven.items()),
            *(f"  wire [{bits - 1}:0] core_{name};" for name, bits in made.items()),
            *(f"  assign core_{name} = 0;" for name in made if name[-3:] in ("BID", "RID")),
            *outside.outside(design, (memory, PART), MHZ, banks, "32'd0"),
            f"  allo_sdram_model #(.ROW_BITS({PART.row_bits})) chip (.clk(sdram_clk), {joined},",
            ", ".join(f".{name}(32'd{value})" for name, value in values) + ", .fault(fault));",
            "endmodule",
            f"module {outside.CLOCK_OUT} (input clock, output pin);",
            "  assign pin = ~clock;",
            "endmodule",
            *((SHELL / name).read_text() for name in ("memory.v", "sdram.v")),
            (Path(model.__file__).with_name("sdram.v")).read_text(),
        ]
    )


def run(folder: Path, text: str) -> str:
    """What is wrong in a run of a bench, or ""."""
    (folder / "bench.sv").write_text(text)
    return simulated(folder, Path(__file__).with_name("cocotb_memory") / "masters.py")


def test_two_masters_find_what_they_wrote(tmp_path: Path) -> None:
    assert run(tmp_path, bench()) == ""
    told = json.loads((tmp_path / "answers.json").read_text())
    assert told["fault"] == 0
    assert min(told["passed"]) > 2000


def test_a_memory_without_strobes_is_seen(tmp_path: Path) -> None:
    right, wrong = "dqm <= command == WRITE ? ~strobe", "dqm <= command == WRITE ? 2'b00"
    text = bench()
    assert text.count(right) == 1
    assert "not what was written" in run(tmp_path, text.replace(right, wrong))
