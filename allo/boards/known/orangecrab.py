"""OrangeCrab r0.2: a Lattice ECP5 on a Feather board. It has no serial port of its own."""

from __future__ import annotations

from ..record import Board, BoardMemory, Pin, bus, low

_IO = {"IO_TYPE": "LVCMOS33"}


def _orangecrab(size: str, lut: int, dsp: int, bram: int) -> Board:
    return Board(
        name=f"orangecrab-{size.lower()}",
        title=f"OrangeCrab r0.2 {size}",
        family="ecp5",
        part=f"LFE5U-{size}-8MG285C",
        resources={"lut": lut, "ff": lut, "dsp": dsp, "bram": bram, "uram": 0},
        tool_arguments=(f"--{size[:-1]}k", "--package", "CSFBGA285", "--speed", "8"),
        pack_arguments=("--compress", "--freq", "38.8"),
        oscillator_mhz=48.0,
        pins={
            "clock": Pin("A9", _IO),
            "serial_rx": Pin("N17", {**_IO, "PULLMODE": "UP"}),
            "serial_tx": Pin("M18", _IO),
            **low({"reset": Pin("J17", {"IO_TYPE": "SSTL135_I"})}),
            **low(bus("led", "K4 M3 J3", **_IO)),
            **low(bus("button", "J17", IO_TYPE="SSTL135_I")),
        },
        clock_generator="pll",
        memories=(BoardMemory("ddr3", 128 << 20, 16, "MT41K64M16"),),
        programmer=("--board", "orangeCrab"),
        port="/dev/ttyUSB0",
        cables="USB goes to the device itself and is not used by the shell: the port is the adapter's.",
        notes=(
            "Join a serial adapter of 3.3 V to the pins 0 (its transmitter) and 1 (its receiver).",
        ),
    )


BOARDS = (_orangecrab("25F", 24_288, 28, 56), _orangecrab("85F", 83_640, 156, 208))
