"""Sipeed Tang Nano 9K and 20K: Gowin devices with a memory in their package, and a serial port over USB."""

from __future__ import annotations

from ..record import Board, BoardMemory, Pin, bus, low

_IO = {"IO_TYPE": "LVCMOS33"}
_SERIAL = {"IO_TYPE": "LVCMOS33", "PULL_MODE": "UP"}
_1V8 = {"IO_TYPE": "LVCMOS18"}

BOARDS = (
    Board(
        name="tang-nano-9k",
        title="Sipeed Tang Nano 9K",
        family="gowin_gw1n9",
        part="GW1NR-LV9QN88PC6/I5",
        resources={"lut": 8_640, "ff": 6_480, "dsp": 20, "bram": 26, "uram": 0},
        tool_arguments=("--device", "GW1NR-LV9QN88PC6/I5", "--vopt", "family=GW1N-9C"),
        pack_arguments=("-d", "GW1N-9C"),
        oscillator_mhz=27.0,
        pins={
            "clock": Pin("52", _IO),
            "serial_rx": Pin("18", _SERIAL),
            "serial_tx": Pin("17", _SERIAL),
            **low({"reset": Pin("3", _1V8)}),
            **low(bus("led", "10 11 13 14 15 16", **_1V8)),
            **low(bus("button", "3 4", **_1V8)),
        },
        clock_generator="pll",
        memories=(BoardMemory("hyperram", 8 << 20, 16, "two PSRAMs of 8 bits in the package"),),
        programmer=("--board", "tangnano9k"),
        port="/dev/ttyUSB1",
        cables="One USB cable programs it by the first port of its chip and calls it by the second.",
    ),
    Board(
        name="tang-nano-20k",
        title="Sipeed Tang Nano 20K",
        family="gowin",
        part="GW2AR-LV18QN88C8/I7",
        resources={"lut": 20_736, "ff": 15_552, "dsp": 48, "bram": 46, "uram": 0},
        tool_arguments=("--device", "GW2AR-LV18QN88C8/I7", "--vopt", "family=GW2A-18C"),
        pack_arguments=("-d", "GW2A-18C"),
        oscillator_mhz=27.0,
        pins={
            "clock": Pin("4", _IO),
            "serial_rx": Pin("70", _IO),
            "serial_tx": Pin("69", _IO),
            "reset": Pin("88", _IO),
            **low(bus("led", "15 16 17 18 19 20", **_IO)),
            **bus("button", "88 87", **_IO),
        },
        clock_generator="pll",
        memories=(BoardMemory("sdram", 8 << 20, 32, "in the package"),),
        programmer=("--board", "tangnano20k"),
        port="/dev/ttyUSB1",
        cables="One USB cable programs it by the first port of its chip and calls it by the second.",
    ),
)
