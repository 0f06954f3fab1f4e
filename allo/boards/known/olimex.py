"""Olimex GateMateA1-EVB: a Cologne Chip GateMate with a serial port through its RP2040.

Pins are those of LiteX-Boards of 2024, whose release of 2023.12 does not have the board.
"""

from __future__ import annotations

from ..record import Board, BoardMemory, Pin, bus, low

_INPUT = {"SCHMITT_TRIGGER": "true"}

BOARDS = (
    Board(
        name="gatemate-evb",
        title="Olimex GateMateA1-EVB",
        family="gatemate",
        part="CCGM1A1",
        resources={"lut": 40_960, "ff": 40_960, "dsp": 0, "bram": 64, "uram": 0},
        tool_arguments=("--device", "CCGM1A1", "--vopt", "fpga_mode=2"),
        oscillator_mhz=10.0,
        pins={
            "clock": Pin("IO_SB_A8", _INPUT),
            "serial_rx": Pin("IO_SA_A6", _INPUT),
            "serial_tx": Pin("IO_SA_B6"),
            **low({"reset": Pin("IO_SB_B7", _INPUT)}),
            **low(bus("led", "IO_SB_B6")),
            **low({"button": Pin("IO_SB_B7", _INPUT)}),
        },
        clock_generator="pll",
        memories=(BoardMemory("psram", 8 << 20, 8, "with eight data lines, not served here"),),
        programmer=("--cable", "dirtyJtag"),
        port="/dev/ttyACM0",
        cables="One USB cable powers, programs and calls it; a microcontroller is between.",
        notes=(
            "The serial port is the RP2040's: its firmware (pico-dirtyJtag) has 115,200 baud, and must be "
            "built with USBUSART_BAUDRATE 1000000 in cdc_uart.h.",
        ),
    ),
)
