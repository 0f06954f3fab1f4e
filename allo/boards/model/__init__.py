"""A board without a board: the whole design in Verilator behind a pseudo-terminal."""

from .board import SimulatedPort, simulate

__all__ = ["SimulatedPort", "simulate"]
