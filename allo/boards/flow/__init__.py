"""From a design and a board to a bitstream: clock, constraints, tools, timing."""

from .make import BAUD, Bitstream, bitstream

__all__ = ["BAUD", "Bitstream", "bitstream"]
