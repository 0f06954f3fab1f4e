"""What brings the bytes of the link to the pins of a board: a file of Verilog and a record for each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import ceil

from allo.dialects.diagnostics import BoardError, BuildError

from ..record import Board
from ..registry import board as board_of
from ..registry import boards

BYTES = ("rx_valid", "rx_data", "rx_active", "rx_ready", "tx_valid", "tx_data", "tx_ready")
"""The ports of a transport on the side of the link, which ``link.v`` describes."""
_LEAST_DIVIDER = 4
_QUIET_BITS, _WAIT_BITS = 40, 20_000
"""Bits of a serial line: 20,000 are 20 ms at 1,000,000 baud."""
_QUIET_US, _WAIT_US = 250, 20_000
_PULSE_NS, _SETUP_NS, _FLAG_NS = 30 + 5, 5 + 5, 14 + 10
_SYNCHRONISER = 2


@dataclass(frozen=True, slots=True)
class Times:
    """What a transport takes at a clock.

    Attributes:
        parameters: of its module.
        quiet: clocks without a byte after which no more of a damaged frame comes.
        wait: clocks for which a reply waits for the end of a run.
    """

    parameters: Mapping[str, int]
    quiet: int
    wait: int


@dataclass(frozen=True, slots=True)
class Transport:
    """A way of bytes between the link and the pins.

    Attributes:
        file: its Verilog, in this folder.
        module: its top module, with ``clock``, ``reset`` and the ports of ``BYTES``.
        ports: role, bits and direction (true for outputs) of each port of the board that it takes.
        pins: what is at each of the module's other ports.
        times: what it takes at a clock in MHz and a baud rate.
        wires: lines of the shell between the module and its pins.
    """

    file: str
    module: str
    ports: tuple[tuple[str, int, bool], ...]
    pins: Mapping[str, str]
    times: Callable[[float, int], Times]
    wires: tuple[str, ...] = ()

    def instance(self, parameters: Mapping[str, int], reset: str) -> list[str]:
        """The lines of its wires and its instance in the shell."""
        given = ", ".join(f".{name}({value})" for name, value in parameters.items())
        pins = ", ".join(f".{name}({port})" for name, port in self.pins.items())
        joined = ", ".join(f".{name}({name})" for name in BYTES)
        return [
            "  wire rx_valid, rx_active, rx_ready, tx_valid, tx_ready;",
            "  wire [7:0] rx_data, tx_data;",
            *self.wires,
            f"  {self.module} #({given}) transport (",
            f"    .clock(link_clock), .reset({reset}), {pins},",
            f"    {joined});",
        ]

    def missing(self, board: Board) -> list[str]:
        """The roles of pins that it takes and a board lacks."""
        names = [r if n == 1 else f"{r}[{k}]" for r, n, _ in self.ports for k in range(n)]
        return [name for name in names if name not in board.pins]


def _serial(clock_mhz: float, baud: int) -> Times:
    """The clocks of a bit.

    Raises:
        BuildError: the clock is too slow for the baud rate.
    """
    divider = round(clock_mhz * 1e6 / baud)
    off = abs(divider - clock_mhz * 1e6 / baud) / max(divider, 1)
    if divider < _LEAST_DIVIDER or off > 0.02:
        raise BuildError(
            f"A clock of {clock_mhz:g} MHz makes no serial line of {baud} baud.",
            help=f"take a baud rate of at most {int(clock_mhz * 1e6 / 16)}.",
        )
    return Times({"DIVIDER": divider}, _QUIET_BITS * divider, _WAIT_BITS * divider)


def _fifo(clock_mhz: float, baud: int) -> Times:
    """The clocks of the pulses, by table 4.2 of FTDI's data sheet of the FT232H, FT_000288, version 2.1.

    RD# and WR# are low for 30 ns (T4, T10). A byte is there 14 ns after RD# has fallen (T3). A byte that is
    written stays from 5 ns before WR# falls to 5 ns after it has risen (T8, T9). RXF# tells 14 ns after RD#
    has risen that the byte is taken, TXE# 14 ns after WR# has fallen (T1, T6). The times here are 5 to 10 ns
    longer, for pins and wires. USB brings bytes in frames of 125 us, so a damaged frame has ended after two.
    """
    del baud
    clocks = {name: ceil(ns * clock_mhz / 1000) for name, ns in _NS.items()}
    clocks["AFTER"] += _SYNCHRONISER
    return Times(clocks, ceil(_QUIET_US * clock_mhz), ceil(_WAIT_US * clock_mhz))


_NS = {"LOW": _PULSE_NS, "SETUP": _SETUP_NS, "AFTER": _FLAG_NS}

UART = Transport(
    file="uart.v",
    module="allo_uart",
    ports=(("serial_rx", 1, False), ("serial_tx", 1, True)),
    pins={"rx": "serial_rx", "tx": "serial_tx"},
    times=_serial,
)
FIFO245 = Transport(
    file="fifo245.v",
    module="allo_fifo245",
    ports=(
        ("fifo_d", 8, True),
        ("fifo_rxf_n", 1, False),
        ("fifo_txe_n", 1, False),
        ("fifo_rd_n", 1, True),
        ("fifo_wr_n", 1, True),
    ),
    pins={
        **{name: f"fifo_{name}" for name in ("rxf_n", "txe_n", "rd_n", "wr_n")},
        "d_in": "fifo_d", "d_out": "fifo_out", "d_drive": "fifo_drive",
    },
    times=_fifo,
    wires=(
        "  wire [7:0] fifo_out;",
        "  wire fifo_drive;",
        "  assign fifo_d = fifo_drive ? fifo_out : 8'bz;",
    ),
)  # fmt: skip
TRANSPORTS: Mapping[str, Transport] = {"uart": UART, "fifo245": FIFO245}
"""By what ``link=`` of a build takes."""
BOTH_WAYS = frozenset({"fifo_d", "sdram_dq"})
"""The ports of a shell that are inputs, too."""


def declared_port(role: str, bits: int, out: bool) -> str:
    """A port of a shell in Verilog."""
    way = "inout" if role in BOTH_WAYS else "output" if out else "input"
    return f"{way} {f'[{bits - 1}:0] ' if bits > 1 else ''}{role}"


def check_link(board: Board, link: str) -> None:
    """A board must have the pins of the link that was asked for; those of a serial port are seen to later.

    Raises:
        BoardError: it lacks some.
    """
    transport = TRANSPORTS[link]
    missing = transport.missing(board)
    if link == "uart" or not missing:
        return
    others = [name for name in boards() if not transport.missing(board_of(name))]
    raise BoardError(
        f"The board {board.name!r} has no pin for {missing[0]!r}, which link={link!r} needs.",
        help=f"boards with its pins: {', '.join(others)}; a record of your own can name them "
        "(allo.boards.register).",
    )
