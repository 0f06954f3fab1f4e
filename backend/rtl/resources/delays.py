"""How long signals take through the cells of a device family and the wires between them.

The figures of ``ecp5`` are those that nextpnr reports for speed grade 6, with the wires of designs
that fill a small part of the device. No open tool routes for the others. Those of ``xcup`` are of grade 2,
which a U280 has: a table with its wire takes 0.30 ns there, as AMD budgets it (``report_failfast`` of
Vivado's ``designutils``: 0.35, 0.30 and 0.25 ns a table for grades 1, 2 and 3), carry chains are those that
FloPoCo read in Vivado's reports for a VU3P of this grade, and a multiplier block takes what routed designs of
grade 1 show (1.92 ns), less the difference of the grades. Those of ``xc7`` are scaled from data sheets.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import log2


@dataclass(frozen=True, slots=True, kw_only=True)
class Delays:
    """Nanoseconds of one device family.

    Attributes:
        clock_out: from the clock to the output of a flip-flop.
        wire: from a cell to the next; ``far`` more to or from a multiplier block or a RAM block.
        spread: more for a wire with many readers, for each doubling of them beyond eight.
        control: the same of enables and resets of registers, beyond 64 readers.
        table: a lookup table. ``joined``: what joins the tables of a function of more inputs, for each one.
        carry: onto a carry chain and off it; ``carry_bit`` along it.
        block: a multiplier block. ``block_out``: from the clock to the output of its register, if that is
            in use, and ``block_setup`` in front of its registers.
        memory: from the clock to the output of a RAM block; ``ultra``: of one of 288 kbit.
        setup: in front of a flip-flop.
        large: by what part all wires are longer in designs of more than 4,096 tables, for each doubling.
    """

    clock_out: float
    wire: float
    far: float
    spread: float
    table: float
    joined: float
    carry: float
    carry_bit: float
    block: float
    memory: float
    setup: float
    control: float = 0.0
    ultra: float = 0.0
    large: float = 0.0
    block_out: float = 0.0
    block_setup: float = 0.0

    def in_design(self, tables: int, blocks: int) -> Delays:
        """The delays in a design with so many lookup tables, and multiplier and RAM blocks.

        Wires are longer in a larger design, and those to blocks, which stand in a few rows of the
        device, the more of them are used.
        """
        size = max(0.0, log2(max(1, tables) / 256))
        longer = 1.0 + 0.03 * size + self.large * max(0.0, size - 4.0)
        wider = 1.0 + min(1.6, 0.08 * blocks)
        return replace(self, wire=self.wire * longer, far=self.far * wider)


_ECP5 = Delays(
    clock_out=0.52, wire=0.75, far=0.7, spread=0.15, table=0.24, joined=0.2, carry=0.9,
    carry_bit=0.036, block=3.93, memory=5.83, setup=0.0,
    block_out=0.735, block_setup=0.095, large=0.08,
)  # fmt: skip
_XCUP = Delays(
    clock_out=0.08, wire=0.21, far=0.12, spread=0.06, table=0.09, joined=0.08, carry=0.30,
    carry_bit=0.005, block=1.7, memory=1.1, setup=0.05, control=0.05, ultra=1.6,
)  # fmt: skip
_XC7 = Delays(
    clock_out=0.45, wire=0.65, far=0.4, spread=0.08, table=0.12, joined=0.2, carry=0.75,
    carry_bit=0.029, block=3.8, memory=2.4, setup=0.05,
)  # fmt: skip
DELAYS: dict[str, Delays] = {"xcup": _XCUP, "xc7": _XC7, "ecp5": _ECP5, "generic": _ECP5}
