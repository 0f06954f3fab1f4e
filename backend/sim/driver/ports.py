"""The ports of a design's top module, in one fixed order."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from allo.backend.rtl.design import HardwareDesign
from allo.backend.rtl.interfaces.board import CLOCK, RESET


@dataclass(frozen=True, slots=True)
class Port:
    """One port of the top module: Verilog name and bits."""

    name: str
    width: int


def top_ports(design: HardwareDesign) -> tuple[Port, ...]:
    """Every port of the top module."""
    if design.board is not None:
        return (
            Port(CLOCK, 1),
            Port(RESET, 1),
            *(Port(w.name, w.width) for w in design.board.wires),
        )
    ports = [Port(name, 1) for name in ("clk", "rst", "start", "done")]
    ports += [Port(s.name, s.width) for s in (*design.scalars_in, *design.scalars_out)]
    for array in design.arrays:
        for port in array.ports:
            ports += [
                Port(f"{port.prefix}_addr", port.addr_width),
                Port(f"{port.prefix}_en", 1),
            ]
            if port.writes:
                ports += [
                    Port(f"{port.prefix}_we", 1),
                    Port(f"{port.prefix}_wdata", array.width),
                ]
            if port.reads:
                ports.append(Port(f"{port.prefix}_rdata", array.width))
            if port.waits:
                ports.append(Port(f"{port.prefix}_ready", 1))
    if design.bounds is not None:
        ports.append(Port(design.bounds.name, design.bounds.width))
    for stream in design.streams:
        ports += [
            Port(f"{stream.name}_data", stream.width),
            Port(f"{stream.name}_valid", 1),
            Port(f"{stream.name}_ready", 1),
        ]
    return tuple(ports)


@dataclass(frozen=True, slots=True)
class PortMap:
    """Where an engine keeps the ports.

    Attributes:
        offsets: byte offset of each port from the model's base address.
        widths: bits of each port.
        container: bits the engine stores a value of some width in; higher bits are zero.
        aliases: outputs that always have the value of another one, and are not kept.
    """

    offsets: dict[str, int]
    widths: dict[str, int]
    container: Callable[[int], int]
    aliases: Mapping[str, str] = field(default_factory=dict)
