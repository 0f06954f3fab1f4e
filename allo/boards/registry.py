"""Which boards there are: those of Allo, in files of ``known``, and those of users."""

from __future__ import annotations

import importlib
import re
import threading
from collections.abc import Mapping

from allo.backend import devices
from allo.dialects.diagnostics import BoardError
from allo.dialects.text.near import did_you_mean
from allo.dialects.text.shown import shown

from .record import OPEN, VIVADO, Board

_FILES = ("ulx3s", "orangecrab", "ecpix5", "icebreaker", "upduino", "tang_nano", "olimex", "amd")
"""The files of ``known`` with ``BOARDS``, in the order in which messages name them."""
_NAME = re.compile(r"[a-z][a-z0-9-]*")


class _Registry:
    """The boards by name; a table is never changed, so that a thread sees all of one or of another."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._table: Mapping[str, Board] | None = None

    def table(self) -> Mapping[str, Board]:
        if self._table is not None:
            return self._table
        with self._lock:
            if self._table is None:
                table: Mapping[str, Board] = {}
                for name in _FILES:
                    for record in importlib.import_module(f"{__package__}.known.{name}").BOARDS:
                        table = _with(table, record)
                self._table = table
            return self._table

    def add(self, record: Board) -> None:
        with self._lock:
            self._table = _with(self.table(), record)


_REGISTRY = _Registry()


def _with(table: Mapping[str, Board], record: Board) -> Mapping[str, Board]:
    """A table with one board more, if it can be one."""
    _check(record)
    if record.name in table:
        raise BoardError(
            f"There is a board {record.name!r} already.", help="give the field name another value."
        )
    return {**table, record.name: record}


def _check(record: Board) -> None:
    if not isinstance(record, Board):
        raise BoardError(
            f"A board is a Board, not {shown(record)}.", help="fill in allo.boards.Board."
        )
    if not isinstance(record.name, str) or not _NAME.fullmatch(record.name):
        raise BoardError(
            f"The name of a board is of lower-case letters, digits and '-', not {shown(record.name)}.",
            help="it is what board= takes.",
        )
    devices.family(record.family)
    if record.tools not in (OPEN, VIVADO):
        raise BoardError(
            f"The field tools of board {record.name!r} is {OPEN!r} or {VIVADO!r}, not {shown(record.tools)}.",
            help="it says whose tools make its bitstreams.",
        )
    if record.tools == OPEN and "clock" not in record.pins:
        raise BoardError(
            f"The board {record.name!r} has no pin with the role 'clock'.",
            help="every design needs the pin of the oscillator; name it in pins.",
        )
    if record.clock_generator and record.pll is None:
        raise BoardError(
            f"The device family {record.family!r} has no clock generator {record.clock_generator!r}, which "
            f"the board {record.name!r} names.",
            help="clock_generator is a key of plls in the family's record.",
        )


def register(record: Board) -> None:
    """Let ``board=`` take a board from now on.

    Raises:
        BoardError: its name is taken, or a field says what no board can be.
        BuildError: there is no such device family.
    """
    _REGISTRY.add(record)


def boards() -> tuple[str, ...]:
    """The names of all boards, Allo's own first."""
    return tuple(_REGISTRY.table())


def board(name: str) -> Board:
    """The board called ``name``.

    Raises:
        BoardError: there is none.
    """
    table = _REGISTRY.table()
    if name in table:
        return table[name]
    raise BoardError(
        f"There is no board {name!r}.",
        help=f"{did_you_mean(name, table)}known boards: {', '.join(table)}.",
    )
