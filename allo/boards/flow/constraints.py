"""Which port of a design is at which pin, in the words of the family's tools."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from allo.backend.devices import Bitstream
from allo.dialects.diagnostics import BoardError

from ..record import Board, Pin

Port = tuple[str, int, bool]
"""A port of a shell: its role, its bits, and whether it is an output."""


def constraints(board: Board, ports: Iterable[Port], bitstream: Bitstream) -> str:
    """The text of the file of pins.

    Raises:
        BoardError: the board has no pin for a port.
    """
    return "".join(
        bitstream.pin.format(
            port=name,
            site=pin.site,
            attributes="".join(
                bitstream.attribute.format(name=key, value=value)
                for key, value in pin.attributes.items()
            ),
        )
        for role, bits, _ in ports
        for name, pin in _pins(board, role, bits)
    )


def _pins(board: Board, role: str, bits: int) -> list[tuple[str, Pin]]:
    """Each bit's name and pin, as the port of a shell is declared."""
    names = [role] if bits == 1 else [f"{role}[{bit}]" for bit in range(bits)]
    return [(name, _pin(board.pins, name, board)) for name in names]


def _pin(pins: Mapping[str, Pin], name: str, board: Board) -> Pin:
    found = pins.get(name) or pins.get(f"{name}[0]")
    if found is not None:
        return found
    roles = ", ".join(dict.fromkeys(role.partition("[")[0] for role in pins))
    raise BoardError(
        f"The board {board.name!r} has no pin for {name!r}, which the design needs.",
        help=f"it has pins for {roles}; a record of your own can name more (allo.boards.register).",
    )
