"""Boards: what is soldered where, and the way from a design to a bitstream for one.

``boards()`` names them, ``board(name)`` is the record of one, ``register(record)`` adds one.
``connect(port, mod)`` calls a design on a board, and ``simulate(mod)`` gives a port without a board.
"""

from .host import Device, connect
from .model import simulate
from .record import Board, BoardMemory, Pin
from .registry import board, boards, register

__all__ = [
    "Board",
    "BoardMemory",
    "Device",
    "Pin",
    "board",
    "boards",
    "connect",
    "register",
    "simulate",
]
