"""The shell: what stands between a compiled core and the serial port of a board, in Verilog."""

from .banks import Bank, banks_of
from .top import Shell, shell_of
from .transports import check_link

__all__ = ["Bank", "Shell", "banks_of", "check_link", "shell_of"]
