"""From a design and a board to a bitstream: clock, constraints, tools, timing."""

from .make import Bitstream, Netlist, bitstream, netlist

__all__ = ["Bitstream", "Netlist", "bitstream", "netlist"]
