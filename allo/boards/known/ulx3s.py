"""Radiona ULX3S: a Lattice ECP5 with SDRAM and a serial port over USB.

The part 12F is a 25F by its fuses, and open tools give all of it.
"""

from __future__ import annotations

from ..record import Board, BoardMemory, Pin, Sdram, bus

_IO = {"IO_TYPE": "LVCMOS33"}
_FLAG = {"IO_TYPE": "LVCMOS33", "PULLMODE": "UP"}
_SDRAM = {"PULLMODE": "NONE", "DRIVE": "4", "SLEWRATE": "FAST", "IO_TYPE": "LVCMOS33"}
_PINS = {
    "clock": Pin("G2", _IO),
    "serial_rx": Pin("M1", _IO),
    "serial_tx": Pin("L4", _IO),
    "reset": Pin("R1", {"IO_TYPE": "LVCMOS33", "PULLMODE": "DOWN"}),
    **bus("led", "B2 C2 C1 D2 D1 E2 E1 H3", IO_TYPE="LVCMOS33", DRIVE="4"),
    **bus("button", "R1 T1 R18 V1 U1 H16", IO_TYPE="LVCMOS33", PULLMODE="DOWN"),
    # An FT232H at the header: D0 to D7 at gp0 to gp7, RXF#, TXE#, RD# and WR# at gn0 to gn3.
    **bus("fifo_d", "B11 A10 A9 B9 A7 C8 C6 A6", **_IO),
    "fifo_rxf_n": Pin("C11", _FLAG),
    "fifo_txe_n": Pin("A11", _FLAG),
    "fifo_rd_n": Pin("B10", _IO),
    "fifo_wr_n": Pin("C10", _IO),
    "sdram_clk": Pin("F19", _SDRAM),
    "sdram_cke": Pin("F20", _SDRAM),
    "sdram_cs_n": Pin("P20", _SDRAM),
    "sdram_we_n": Pin("T20", _SDRAM),
    "sdram_cas_n": Pin("T19", _SDRAM),
    "sdram_ras_n": Pin("R20", _SDRAM),
    **bus("sdram_dqm", "U19 E20", **_SDRAM),
    **bus("sdram_ba", "P19 N20", **_SDRAM),
    **bus("sdram_a", "M20 M19 L20 L19 K20 K19 K18 J20 J19 H20 N19 G20 G19", **_SDRAM),
    **bus("sdram_dq", "J16 L18 M18 N18 P18 T18 T17 U20 E19 D20 D19 C20 E18 F18 J18 J17", **_SDRAM),
}

# The slowest of the three parts in each: AS4C16M16SA-7 has 21 ns from row to column, and
# MT48LC16M16A2 66 ns for a refresh. All take 10 ns clocks with two clocks from a read to its word.
SDRAM = Sdram(
    row_bits=13, column_bits=9, power_up=200_000, rcd=21, rp=21, ras=42, rc=63, rrd=14, wr=14, rfc=66,
    refresh=64e6 / 8192, cas=2, clock=10,
)  # fmt: skip


def _ulx3s(size: str, switch: str, lut: int, dsp: int, bram: int, *pack: str) -> Board:
    return Board(
        name=f"ulx3s-{size.lower()}",
        title=f"Radiona ULX3S {size}",
        family="ecp5",
        part=f"LFE5U-{size}-6BG381C",
        resources={"lut": lut, "ff": lut, "dsp": dsp, "bram": bram, "uram": 0},
        tool_arguments=(switch, "--package", "CABGA381", "--speed", "6"),
        pack_arguments=("--compress", *pack),
        oscillator_mhz=25.0,
        pins=_PINS,
        clock_generator="pll",
        memories=(
            BoardMemory(
                "sdram", 32 << 20, 16, "AS4C16M16SA-7, MT48LC16M16A2-7E or W9825G6KH-6", SDRAM
            ),
        ),
        programmer=("--board", "ulx3s"),
        port="/dev/ttyUSB0",
        cables="One USB cable (US1) powers, programs and calls it.",
    )


BOARDS = (
    _ulx3s("12F", "--12k", 24_288, 28, 56, "--idcode", "0x21111043"),
    _ulx3s("45F", "--45k", 43_848, 72, 108),
    _ulx3s("85F", "--85k", 83_640, 156, 208),
)
