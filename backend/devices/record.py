"""Everything that is known of a device family, in one record."""

from __future__ import annotations

from dataclasses import dataclass

from .fields.bitstream import Bitstream
from .fields.cells import Cells
from .fields.delays import OperatorDelays, SignalDelays
from .fields.facts import Facts
from .fields.tools import Part, Routing, Synthesis


@dataclass(frozen=True, slots=True, kw_only=True)
class Netlist(Facts):
    """What a design is made of on this family, where it could be made of either.

    Attributes:
        offset_comparisons: a comparison of signed numbers is one of unsigned numbers with inverted sign bits,
            for the carry chain gives no sign, and of an even number of bits, as its cells have two.
        early_writes: FIFOs of few words write whether a word comes or not, for their enables would come late.
        running_bits: whether a loop that waits runs is a register of its own, for wires are long.
    """

    offset_comparisons: bool
    early_writes: bool
    running_bits: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceRecord(Facts):
    """One device family.

    Attributes:
        name: what ``device=`` takes, a word of lower-case letters, digits and ``_``.
        title: what its vendor calls it.
        operators: delays that operators are pipelined by.
        signals: delays that the clock is estimated from.
        cells: what it is made of, which resources are estimated from.
        netlist: which of two equal designs it is better at.
        usual_mhz: a clock that designs of the family often have, which benchmarks ask for.
        synthesis: how Yosys and nextpnr are run; None where they do not know it.
        part: the largest device that its users are likely to have; None where nothing is too large.
        part_names: how the names of its parts begin, and of those that are nearest to it.
        bus_width: bits of an AXI4 master without ``width``, at most: memories of boards give no more.
        large_text: characters of a design's text above which a build itself sees whether it fits; 0: never.
    """

    name: str
    title: str
    operators: OperatorDelays
    signals: SignalDelays
    cells: Cells
    netlist: Netlist
    usual_mhz: float
    synthesis: Synthesis | None = None
    part: Part | None = None
    part_names: tuple[str, ...] = ()
    bus_width: int = 512
    large_text: int = 0

    @property
    def routing(self) -> Routing | None:
        """How nextpnr is run; None where no open tool routes for it."""
        return self.synthesis.routing if self.synthesis is not None else None

    @property
    def bitstream(self) -> Bitstream | None:
        """How a routed design becomes a bitstream; None where no open tool makes one."""
        return self.routing.bitstream if self.routing is not None else None
