"""The memory of a simulated board: its model around the top of the shell, and the rules it names."""

from __future__ import annotations

from pathlib import Path

from ..record import Sdram
from ..shell import Shell
from ..shell.outside import CLOCK_OUT
from ..shell.transports import declared_port

_MODEL = Path(__file__).with_name("sdram.v")
_TIMES = ("power_up", "rcd", "rp", "ras", "rc", "rrd", "wr", "rfc", "refresh", "clock")
BENCH = "allo_bench"
RULES = {
    1: "CKE stays high",
    2: "no command comes before the time after power-up",
    3: "a refresh takes tRFC",
    4: "two clocks pass after the mode is set",
    5: "the clock is no shorter than the CAS latency allows",
    6: "all rows are closed, eight refreshes done and the mode set before a row is opened",
    7: "a row is opened in a bank that has none open",
    8: "a row is opened tRP after the bank was closed",
    9: "rows of a bank are opened tRC apart",
    10: "rows of different banks are opened tRRD apart",
    11: "a word is read or written in an open row",
    12: "a word is read or written tRCD after its row was opened",
    13: "no row is closed by itself",
    14: "no word is written while others are on their way out",
    15: "a row is open for tRAS",
    16: "a row is closed tWR after a word was written",
    17: "refresh and mode come while no row is open",
    18: "the mode is a burst of one word at the CAS latency of the part",
    19: "no row is open for longer than 100 us",
    20: "as many refreshes come as the part needs",
}


def bench(shell: Shell, sdram: Sdram) -> str:
    """The module ``BENCH``: the board with its memory, whose times are inputs."""
    inner = [(role, bits) for role, bits, _ in shell.ports if role.startswith("sdram_")]
    width = next(bits for role, bits in inner if role == "sdram_dq")
    wires = [f"  wire [{bits - 1}:0] {role};" for role, bits in inner]
    outer = [port for port in shell.ports if not port[0].startswith("sdram_")]
    declared = ", ".join(declared_port(*port) for port in outer)
    times = ("period", *(t for t in _TIMES if t != "clock"), "shortest", "cas")
    joined = ", ".join(f".{role}({role})" for role, *_ in (*outer, *inner))
    pins = ", ".join(
        f".{role.removeprefix('sdram_')}({role})" for role, _ in inner if role != "sdram_clk"
    )
    given = ", ".join(f".{'clock' if t == 'shortest' else t}({t})" for t in times)
    return "\n".join(
        [
            f"module {BENCH} (",
            f"  {declared}, output [7:0] fault,",
            f"  input [31:0] {', '.join(times)});",
            *wires,
            f"  {shell.top} board ({joined});",
            f"  allo_sdram_model #(.WIDTH({width}), .ROW_BITS({sdram.row_bits}), "
            f".COLUMN_BITS({sdram.column_bits})) memory (",
            f"    .clk(sdram_clk), {pins},",
            f"    {given}, .fault(fault));",
            "endmodule",
            f"module {CLOCK_OUT} (input clock, output pin);",
            "  assign pin = ~clock;",
            "endmodule",
            _MODEL.read_text(),
        ]
    )


def times(sdram: Sdram, clock_mhz: float) -> list[str]:
    """The arguments of the harness: the clock and the times of the part in ps, and its CAS latency."""
    found = [1e6 / clock_mhz, *(1000 * getattr(sdram, name) for name in _TIMES)]
    return [*(str(round(value)) for value in found), str(sdram.cas)]
