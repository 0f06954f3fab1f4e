"""The shell: what stands between a compiled core and the serial port of a board, in Verilog."""

from .banks import Bank, banks_of
from .top import Shell, shell_of

__all__ = ["Bank", "Shell", "banks_of", "shell_of"]
