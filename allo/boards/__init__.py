"""Boards: what is soldered where, and the way from a design to a bitstream for one.

``boards()`` names them, ``board(name)`` is the record of one, ``register(record)`` adds one.
"""

from .record import Board, BoardMemory, Pin
from .registry import board, boards, register

__all__ = ["Board", "BoardMemory", "Pin", "board", "boards", "register"]
