"""LambdaConcept ECPIX-5: a large Lattice ECP5 with a serial port over USB.

It has no button of its own: what amaranth-boards and litex-boards call its reset are different pins.
"""

from __future__ import annotations

from ..record import Board, BoardMemory, Pin, bus, low

_IO = {"IO_TYPE": "LVCMOS33"}
_UP = {"IO_TYPE": "LVCMOS33", "PULLMODE": "UP"}


def _ecpix5(size: str, lut: int, dsp: int, bram: int) -> Board:
    return Board(
        name=f"ecpix5-{size.lower()}",
        title=f"LambdaConcept ECPIX-5 {size}",
        family="ecp5",
        part=f"LFE5UM5G-{size}-8BG554C",
        resources={"lut": lut, "ff": lut, "dsp": dsp, "bram": bram, "uram": 0},
        tool_arguments=(f"--um5g-{size[:-1]}k", "--package", "CABGA554", "--speed", "8"),
        pack_arguments=("--compress",),
        oscillator_mhz=100.0,
        pins={
            "clock": Pin("K23", _IO),
            "serial_rx": Pin("R26", _UP),
            "serial_tx": Pin("R24", _UP),
            **low(bus("led", "T23 R21 T22 U21 W21 T24 K21 K24 M21 P21 R23 P22", **_UP)),
        },
        clock_generator="pll",
        memories=(BoardMemory("ddr3", 512 << 20, 16, "MT41K256M16"),),
        programmer=("--board", "ecpix5_r03"),
        port="/dev/ttyUSB1",
        cables="One USB cable programs it by the first port of its chip and calls it by the second.",
    )


BOARDS = (_ecpix5("45F", 43_848, 72, 108), _ecpix5("85F", 83_640, 156, 208))
