"""1BitSquared iCEBreaker: a Lattice iCE40 UltraPlus with a serial port over USB."""

from __future__ import annotations

from ..record import Board, BoardMemory, Pin, bus, low

BOARDS = (
    Board(
        name="icebreaker",
        title="1BitSquared iCEBreaker",
        family="ice40",
        part="iCE40UP5K-SG48",
        resources={"lut": 5_280, "ff": 5_280, "dsp": 8, "bram": 30, "uram": 0},
        tool_arguments=("--up5k", "--package", "sg48"),
        oscillator_mhz=12.0,
        pins={
            "clock": Pin("35"),
            "serial_rx": Pin("6", {"pullup": "yes"}),
            "serial_tx": Pin("9"),
            **low({"reset": Pin("10")}),
            **low(bus("led", "11 37")),
            **low({"button": Pin("10")}),
            # An FT232H at PMOD 1A (D0 to D7) and at the first row of PMOD 1B.
            **bus("fifo_d", "4 2 47 45 3 48 46 44"),
            "fifo_rxf_n": Pin("43", {"pullup": "yes"}),
            "fifo_txe_n": Pin("38", {"pullup": "yes"}),
            "fifo_rd_n": Pin("34"),
            "fifo_wr_n": Pin("31"),
        },
        clock_generator="pad",
        memories=(BoardMemory("spram", 128 << 10, 16, "in the device"),),
        programmer=("--board", "ice40_generic"),
        port="/dev/ttyUSB1",
        cables="One USB cable programs it by the first port of its chip and calls it by the second.",
    ),
)
