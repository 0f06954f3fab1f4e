"""What brings the bytes of the link to the pins of a board: a file of Verilog and a record for each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

BYTES = ("rx_valid", "rx_data", "rx_active", "tx_valid", "tx_data", "tx_ready")
"""The ports of a transport on the side of the link, which ``link.v`` describes."""


@dataclass(frozen=True, slots=True)
class Transport:
    """A way of bytes between the link and the pins.

    Attributes:
        file: its Verilog, in this folder.
        module: its top module, with ``clock``, ``reset`` and the ports of ``BYTES``.
        ports: role, bits and direction (true for outputs) of each port of the board that it takes.
        pins: the port of the board at each of the module's other ports.
    """

    file: str
    module: str
    ports: tuple[tuple[str, int, bool], ...]
    pins: Mapping[str, str]

    def instance(self, parameters: Mapping[str, int], reset: str) -> list[str]:
        """The lines of its wires and its instance in the shell."""
        given = ", ".join(f".{name}({value})" for name, value in parameters.items())
        pins = ", ".join(f".{name}({port})" for name, port in self.pins.items())
        joined = ", ".join(f".{name}({name})" for name in BYTES)
        return [
            "  wire rx_valid, rx_active, tx_valid, tx_ready;",
            "  wire [7:0] rx_data, tx_data;",
            f"  {self.module} #({given}) transport (",
            f"    .clock(link_clock), .reset({reset}), {pins},",
            f"    {joined});",
        ]


UART = Transport(
    file="uart.v",
    module="allo_uart",
    ports=(("serial_rx", 1, False), ("serial_tx", 1, True)),
    pins={"rx": "serial_rx", "tx": "serial_tx"},
)
