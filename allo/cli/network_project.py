"""A network as a project for a board of AMD, with a host program that streams batches of samples."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from allo import boards
from allo.dialects.diagnostics import BoardError

_PORTS = {"interface": "m_axi"}


def write_project(schedule: Any, board: str, folder: Path, clock_mhz: float | None = None) -> Any:
    """Build a network for a board, and write the project with its host programs.

    Args:
        schedule: of a network that takes several samples a call.
        board: its name.
        folder: of the project.
        clock_mhz: asked for; None for the board's usual one.

    Returns:
        The built module.

    Raises:
        BoardError: a board whose tools are open, and which runs designs over a serial line.
    """
    found = boards.board(board)
    if not found.platform:
        raise BoardError(
            f"{found.title} has no memory that a host and a network share.",
            help="networks stream batches on pynq-z2, zcu104, kv260 and on cards; on this board, build the "
            'schedule with s.build(target="verilog", board=…), and call it by allo.boards.connect.',
        )
    options: dict[str, Any] = {} if clock_mhz is None else {"clock_mhz": clock_mhz}
    module = schedule.build(
        target="verilog", simulator="jit", board=board, configs=_PORTS, **options
    )
    boards.project(module, folder, batches=True)
    return module
