"""Whether a design fits a board, and which board it would fit."""

from __future__ import annotations

from collections.abc import Mapping

from allo.backend.devices import family
from allo.dialects.diagnostics import CapacityError
from allo.dialects.reports.figures import DesignReport

from ..record import OPEN, Board
from ..registry import board as board_of
from ..registry import boards

_WORDS = {
    "lut": "lookup tables",
    "ff": "flip-flops",
    "dsp": "multiplier blocks",
    "bram": "blocks of RAM",
    "uram": "large blocks of RAM",
}
_MOST = 3


def check_fit(
    board: Board,
    used: Mapping[str, int],
    report: DesignReport,
    memories: Mapping[str, int] | None = None,
) -> None:
    """Refuse a design that takes more than there is.

    Args:
        board: where it shall go.
        used: what Yosys counts, by resource.
        report: the design's, which tells its largest users.
        memories: bits of the memory that the shell has for each argument.

    Raises:
        CapacityError: with the resource, by how much, the largest users, and a board that it fits.
    """
    over = {name: used[name] - have for name, have in board.resources.items() if used[name] > have}
    if not over:
        return
    worst = max(over, key=lambda name: used[name] / max(1, board.resources[name]))
    have = board.resources[worst]
    others = [name for name in over if name != worst]
    more = "".join(
        f" and {used[name]:,} of {board.resources[name]:,} {_WORDS[name]}" for name in others
    )
    raise CapacityError(
        f"The design takes {used[worst]:,} {_WORDS[worst]}, and {board.title} has {have:,}: "
        f"{over[worst]:,} too many{more}.",
        help=f"{_users(report, worst, _blocks(board, memories or {}))}{_nearest(board, used)}",
    )


def _blocks(board: Board, memories: Mapping[str, int]) -> dict[str, int]:
    """Blocks of RAM that the shell's memories take at least."""
    part = family(board.family).part
    bits = (part.block_kbit if part is not None else 18) << 10
    return {name: -(-size // bits) for name, size in memories.items()}


def _users(report: DesignReport, resource: str, blocks: Mapping[str, int]) -> str:
    """The functions, and memories of arguments, that take most of a resource, as the estimate has them."""
    rows = [(f.resources.get(resource, 0), f.name) for f in report.functions]
    if resource == "bram":
        rows += [(count, f"the memory of argument {name}") for name, count in blocks.items()]
    largest = [f"{name} ({count:,})" for count, name in sorted(rows, reverse=True)[:_MOST] if count]
    return f"its largest users are {', '.join(largest)}; " if largest else ""


def _nearest(board: Board, used: Mapping[str, int]) -> str:
    """The smallest board that a design fits by the same count, of the same family where there is one."""
    fitting = [
        other
        for other in map(board_of, boards())
        if other.tools == OPEN and all(used[name] <= have for name, have in other.resources.items())
    ]
    if not fitting:
        return "no board with open tools that is known here has room for it."
    best = min(fitting, key=lambda other: (other.family != board.family, other.resources["lut"]))
    return f"by this count it fits board={best.name!r} ({best.title})."
