"""What of a simulation's options goes together with a wrapper, and how long its runs may take."""

from __future__ import annotations

from allo.backend.rtl.interfaces.board import Board
from allo.dialects.boundary.arguments import Signature
from allo.dialects.diagnostics import InterfaceError

from ..boundary.traffic import Outside


def bus_limit(board: Board, predicted: int, stalls: float) -> int:
    """Cycles after which a run is given up, where the core's are known."""
    words = sum(a.count * max(1, a.cell // 32) for a in board.arrays)
    quiet = 4 * predicted + 16 * words + 20_000
    return int(quiet / (1 - stalls) ** 2)


def check_outside(board: Board, outside: Outside, signature: Signature) -> None:
    """Channels of memory stand behind AXI4 masters only.

    Raises:
        InterfaceError: an array or stream has channels, and no master.
    """
    masters = {array.name for array in board.arrays}
    placed = [*outside.memory, *(n for n, s in outside.streams.items() if s.channels)]
    for name in placed:
        if name in masters:
            continue
        place = next((p.place for p in signature.arguments if p.name == name), signature.place)
        raise InterfaceError(
            f"{name} has channels of memory, and no AXI4 master behind which they could stand.",
            place,
            help="give it the interface 'm_axi', or leave its channels out.",
        )
