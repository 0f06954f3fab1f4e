"""The ports of a wrapper."""

from __future__ import annotations

from ..design import ArrayInterface
from .board import LITE, Board, Wire
from .control import lite_ports
from .masters import master_ports
from .shell import Core
from .streams import stream_ports


def wires_of(board: Board, core: Core) -> tuple[Wire, ...]:
    """Every port of a wrapper but its clock and its reset."""
    found: list[Wire] = []

    def add(prefix: str, ports: tuple[dict[str, int], dict[str, int]]) -> None:
        for output, named in enumerate(ports):
            found.extend(
                Wire(f"{prefix}{name}", width, bool(output)) for name, width in named.items()
            )

    if board.registers is None:
        add("", ({"ap_start": 1}, {"ap_done": 1, "ap_idle": 1, "ap_ready": 1}))
    else:
        add(f"{LITE}_", lite_ports(board.address_bits))
        add("", ({}, {"interrupt": 1}))
    widths = {s.name: s.width for s in (*core.scalars_in, *core.scalars_out)}
    add("", ({n: widths[n] for n in board.pins}, {n: widths[n] for n in board.results}))
    for master in board.masters:
        add(f"{master.prefix}_", master_ports(master))
    for end in board.streams:
        add("", stream_ports(end))
    for array in core.arrays:
        if array.name in board.memories:
            add("", _memory_ports(array))
    return tuple(found)


def _memory_ports(array: ArrayInterface) -> tuple[dict[str, int], dict[str, int]]:
    inputs: dict[str, int] = {}
    outputs: dict[str, int] = {}
    for port in array.ports:
        outputs |= {f"{port.prefix}_addr": port.addr_width, f"{port.prefix}_en": 1}
        if port.writes:
            outputs |= {f"{port.prefix}_we": 1, f"{port.prefix}_wdata": array.width}
        if port.reads:
            inputs[f"{port.prefix}_rdata"] = array.width
    return inputs, outputs
