"""The ring of a stream between host and core, and what tells how far the core is.

The core may go on while its position is not the one that the host allowed last.
"""

from __future__ import annotations

from collections.abc import Sequence

from .banks import PROGRESS, Bank
from .protocol import POSITION_BITS, QUIET_BITS, RING

_PLACE = f"[{RING.bit_length() - 2}:0]"


def ring(bank: Bank, here: str, number: int, taken: str) -> list[str]:
    """The lines of a stream's bank.

    Args:
        here: whether the host writes a word of this bank.
        number: of the bank.
        taken: that word.
    """
    name, core, shape = bank.name, f"core_{bank.source}", f"[{bank.width - 1}:0]"
    inward = bank.written
    store, place, word = (
        (here, "word", taken) if inward else (f"{name}_moves", f"{name}_at", f"{core}_data")
    )
    read = f"{name}_next" if inward else "word"
    far = f"[{POSITION_BITS - 1}:0]"
    return [
        f"  // {bank.source}: {RING} words of {bank.width} bits, {'to' if inward else 'from'} the core",
        f"  reg {shape} {name}_ram [0:{RING - 1}];",
        f"  reg {shape} {name};",
        f"  reg {far} {name}_at, {name}_until;",
        f"  reg {name}_open;",
        f"  assign {core}_{'valid' if inward else 'ready'} = {name}_open && running;",
        f"  wire {name}_moves = {core}_valid && {core}_ready;",
        f"  wire {far} {name}_next = {name}_at + {name}_moves;",
        *([f"  assign {core}_data = {name};"] if inward else []),
        "  always @(posedge link_clock) begin",
        f"    if ({store}) {name}_ram[{place}{_PLACE}] <= {word};",
        f"    {name} <= {name}_ram[{read}{_PLACE}];",
        f"    {name}_at <= core_reset ? {POSITION_BITS}'d0 : {name}_next;",
        f"    if (core_reset) {name}_until <= {POSITION_BITS}'d0;",
        f"    else if (commit && bank == {number}) {name}_until <= word{far};",
        f"    {name}_open <= !core_reset && {name}_next != {name}_until;",
        "  end",
    ]


def progress(streams: Sequence[Bank]) -> list[str]:
    """The word that says whether the core runs, and for how many clocks no word has passed."""
    moves = " || ".join(f"{bank.name}_moves" for bank in streams)
    return [
        f"  reg [{QUIET_BITS - 1}:0] quiet;",
        f"  wire moves = {moves};",
        "  always @(posedge link_clock)",
        f"    if (start || moves) quiet <= {QUIET_BITS}'d0;",
        f"    else if (!(&quiet)) quiet <= quiet + {QUIET_BITS}'d1;",
        f"  wire [{QUIET_BITS}:0] {PROGRESS} = {{running, quiet}};",
    ]
