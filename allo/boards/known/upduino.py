"""UPduino 3: a Lattice iCE40 UltraPlus on a small board. It has no serial port of its own."""

from __future__ import annotations

from ..record import Board, BoardMemory, Pin, bus, low

BOARDS = (
    Board(
        name="upduino-3",
        title="tinyVision UPduino 3",
        family="ice40",
        part="iCE40UP5K-SG48",
        resources={"lut": 5_280, "ff": 5_280, "dsp": 8, "bram": 30, "uram": 0},
        tool_arguments=("--up5k", "--package", "sg48"),
        oscillator_mhz=12.0,
        pins={
            "clock": Pin("20"),
            "serial_rx": Pin("42", {"pullup": "yes"}),
            "serial_tx": Pin("38"),
            **low(bus("led", "41 39 40")),
        },
        clock_generator="wire",
        memories=(BoardMemory("spram", 128 << 10, 16, "in the device"),),
        programmer=("--board", "upduino3"),
        port="/dev/ttyUSB1",
        cables="Its USB port programs it; the port of calls is the adapter's.",
        notes=(
            "Close the jumper OSC, which joins the oscillator to pin 20.",
            "Join a serial adapter of 3.3 V to the pins 42 (its transmitter) and 38 (its receiver).",
        ),
    ),
)
