"""The FT232H of a simulated board: the rules that its model names, and what the harness is told."""

from __future__ import annotations

from ..shell.protocol import BAUD
from ..shell.transports import FIFO245

RULES = {
    101: "RD# falls while RXF# is low",
    102: "the board drives no byte while RD# is low, nor for 14 ns after it",
    103: "RD# is low for 30 ns",
    104: "WR# falls while TXE# is low",
    105: "all bits of a byte are driven for 5 ns before WR# falls",
    106: "a byte stays while WR# is low and for 5 ns after it",
    107: "WR# is low for 30 ns",
}
_RESTS = 3
"""A damaged frame is waited out in at most twice the clocks of its rest, since they are rounded up."""


def arguments(clock_mhz: float) -> tuple[str, str]:
    """The clocks of rest after which nothing more comes from the board, and the period in ps."""
    quiet = FIFO245.times(clock_mhz, BAUD).quiet
    return str(_RESTS * quiet), str(round(1e6 / clock_mhz))
