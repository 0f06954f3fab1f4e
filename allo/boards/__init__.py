"""Boards: what is soldered where, and the way from a design to a bitstream for one.

``boards()`` names them, ``board(name)`` is the record of one, ``register(record)`` adds one.
``connect(port, mod)`` calls a design on a board, and ``simulate(mod)`` gives a port without a board.
``project(mod, folder)`` writes what AMD's tools need for one of their boards.
"""

from .host import Device, connect
from .model import simulate
from .record import Board, BoardMemory, Pin
from .registry import board, boards, register
from .vendor import project

__all__ = [
    "Board",
    "BoardMemory",
    "Device",
    "Pin",
    "board",
    "boards",
    "connect",
    "project",
    "register",
    "simulate",
]
