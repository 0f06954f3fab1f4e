"""From a design and a board to a bitstream: clock, constraints, tools, timing."""

from .make import Bitstream, bitstream

__all__ = ["Bitstream", "bitstream"]
