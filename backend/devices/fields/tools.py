"""What the tools of a family are told: Yosys, nextpnr, and what a cell of their netlists takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil

from .bitstream import Bitstream
from .card import Card
from .facts import Facts


@dataclass(frozen=True, slots=True)
class Cost:
    """What one cell takes; ``srl`` and ``lutram`` say that its lookup tables are used as such."""

    lut: int = 0
    ff: int = 0
    dsp: int = 0
    bram: int = 0
    uram: int = 0
    srl: int = 0
    lutram: int = 0
    carry: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SizedCost(Facts):
    """The lookup tables of a cell whose size its parameters tell.

    Attributes:
        parameters: the names of two widths in bits.
        base: tables of each cell; ``first`` and ``second`` for each bit of a width, and ``product`` for each
            of one by each of the other.
    """

    parameters: tuple[str, str]
    base: float
    first: float
    second: float
    product: float

    def lut(self, a: int, b: int) -> int:
        """The lookup tables of a cell with these widths."""
        return ceil(self.base + self.first * a + self.second * b + self.product * a * b)


LUT, FF, CARRY, SHIFT = Cost(lut=1), Cost(ff=1), Cost(carry=1), Cost(lut=1, srl=1)


def memory_tables(luts: int) -> Cost:
    """A memory of so many lookup tables."""
    return Cost(lut=luts, lutram=luts)


@dataclass(frozen=True, slots=True, kw_only=True)
class CellUse(Facts):
    """A cell in a netlist of Yosys, as it is added around a design that is routed by itself.

    Attributes:
        kind: the cell's name.
        parameters: their texts, as JSON of Yosys writes them.
        ports: of each port, what it is joined to: ``"0"`` or ``"1"``, or a word for a signal. A flip-flop has
            ``"clock"``, ``"data"`` and ``"held"``, the exclusive or ``"a"``, ``"b"`` and ``"result"``.
    """

    kind: str
    parameters: Mapping[str, str]
    ports: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Routing(Facts):
    """The place and route of a family.

    Attributes:
        tool: nextpnr's program on PATH; ``package``: the wheel that brings it.
        arguments: those of every run, beside part, files, seed and clock.
        routers: by the name that users give, the arguments of a router of nextpnr.
        crowded_lut: lookup tables above which ``"auto"`` is the last of the routers, otherwise the first.
        flip_flop, exclusive_or: the cells that are put around a design.
        input_pin, output_pin: the cells between a pin (``"pin"``) and the design (``"result"`` of an input,
            ``"data"`` of an output); None where nextpnr puts them in.
        untimed: what nextpnr does not time, as the parts of an estimated path that follow one another. Where
            one is on the longest path, its clock is no measure of the estimate.
        signals: kinds of cells as the names of nets hold them, which Yosys joins to the name of a signal.
        bitstream: how a design with pins becomes a bitstream; None where that is not known.
    """

    tool: str
    package: str
    arguments: tuple[str, ...]
    routers: Mapping[str, tuple[str, ...]]
    crowded_lut: int
    flip_flop: CellUse
    exclusive_or: CellUse
    signals: tuple[str, ...]
    input_pin: CellUse | None = None
    output_pin: CellUse | None = None
    untimed: tuple[tuple[str, ...], ...] = ()
    bitstream: Bitstream | None = None

    def times(self, path: Sequence[str]) -> bool:
        """Whether nextpnr times all of an estimated path, whose parts are named."""
        return not any(
            tuple(path[k : k + len(parts)]) == parts
            for parts in self.untimed
            for k in range(len(path))
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Synthesis(Facts):
    """The synthesis of a family.

    Attributes:
        script: commands of Yosys behind the reading of the design, with a place for ``{top}``.
        cells: by name, what each cell of Yosys's netlist takes. Others take nothing.
        sized: cells whose parameters tell what they take.
        routing: None where no open tool routes.
        packed: the same commands with registers and sums packed into multiplier blocks, where ``script``
            leaves them outside; they read the map of products in the file ``blocks.v``, which ``blocks`` is.
    """

    script: str
    cells: Mapping[str, Cost]
    routing: Routing | None = None
    sized: Mapping[str, SizedCost] = field(default_factory=dict)
    packed: str = ""
    blocks: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part(Facts):
    """A device of a family.

    Attributes:
        title: as messages name it.
        resources: how many of each it has: ``lut``, ``ff``, ``dsp``, ``bram``, ``uram``.
        block_kbit: thousands of bits of a block of RAM.
        arguments: of nextpnr, which say that it is this part; ``routed``: that part as reports name it.
        files: by name the text of files that these arguments name.
        card: on which it has memory beside it.
        regions: of a device of several dies, what each of them has of ``resources``, in their order; wires
            over a border between two take ``SignalDelays.crossing``.
    """

    title: str
    resources: Mapping[str, int]
    block_kbit: int = 18
    arguments: tuple[str, ...] = ()
    routed: str = ""
    files: Mapping[str, str] = field(default_factory=dict)
    card: Card | None = None
    regions: tuple[Mapping[str, int], ...] = ()
