"""How the lines of an array lie on channels, and what a top function says of such arrays.

Line ``w`` of 64 bytes is line ``w // C`` of channel ``w % C``, as behind the AXI4 masters of Allo's own
Verilog. Each channel has as many lines as the first, so the last ones may hold no elements. Of a packed array
bit k is bit ``k % 512`` of line ``k // 512``, on one channel or on several.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from allo.dialects._mlir import ir
from allo.dialects.boundary.storage import is_signed
from allo.dialects.diagnostics import SourcePlace
from allo.dialects.types import AlloType, Block, Index, Struct, parse_type

from ..errors import HlsConfigError
from ..split_arguments import split_counts

LINE_BYTES = 64
"""Of a line: the width of the bus of a channel, 512 bits."""
LINE_BITS = 8 * LINE_BYTES
_SPREADS = "spread_arguments"
"""Attribute of the top function: which of the user's arguments lie on several channels, or are packed."""


@dataclass(frozen=True, slots=True)
class Spread:
    """An array of which lines pass: it lies on several channels, or is packed.

    Attributes:
        name: the user's name of the argument.
        kind: its type; ``declared`` that of its elements, as text.
        channels: how many.
        wide: whether a port passes lines, or single elements.
        packed: whether no bits lie between elements; those of a packed array always pass in lines.
    """

    name: str
    kind: ir.MemRefType
    declared: str
    channels: int
    wide: bool = True
    packed: bool = False

    @property
    def dtype(self) -> AlloType:
        """The declared type of an element."""
        return parse_type(self.declared)

    @property
    def bits(self) -> int:
        """Bits of an element."""
        return self.dtype.bits

    @property
    def cell(self) -> int:
        """Bits that an element takes in memory: as its C++ type does, or its own alone."""
        return self.bits if self.packed else max(8, 1 << (self.bits - 1).bit_length())

    @property
    def group(self) -> int:
        """Bits of a line of every channel."""
        return LINE_BITS * self.channels

    @property
    def is_signed(self) -> bool:
        """Whether its sign fills the cell."""
        return is_signed(self.dtype)

    @property
    def in_line(self) -> int:
        """Elements in a line of an array that is not packed."""
        return LINE_BITS // self.cell

    @property
    def count(self) -> int:
        """Elements of the array."""
        return prod(self.kind.shape)

    @property
    def lines(self) -> int:
        """Lines on each channel."""
        return -(-self.count * self.cell // self.group)

    @property
    def port_count(self) -> int:
        """Elements of the port of a channel."""
        return self.lines if self.wide else self.lines * self.in_line

    @property
    def port(self) -> ir.MemRefType:
        """The type of the port of a channel."""
        line = ir.IntegerType.get_signless(LINE_BITS)
        return ir.MemRefType.get([self.port_count], line if self.wide else self.kind.element_type)

    @property
    def port_declared(self) -> str:
        """The declared type of an element of the port."""
        return f"ui{LINE_BITS}" if self.wide else self.declared


def check_spread(spread: Spread, place: SourcePlace | None) -> None:
    """Whether elements lie in lines of C++ as they do in those of the bus.

    Raises:
        HlsConfigError: their type has no cell of a power of two of bytes in C++.
    """
    dtype = spread.dtype
    if spread.packed:
        return
    odd = dtype.bits > 64 and dtype.bits not in (128, 256, 512)
    if isinstance(dtype, (Struct, Block, Index)) or odd:
        raise HlsConfigError(
            f"{spread.name} lies on {spread.channels} channels, and its elements are of type {dtype}.",
            place,
            help="place it in one channel, or give it integers, fixed point or floats of up to 64 bits.",
        )


def note_spreads(function: ir.Operation, spreads: dict[int, Spread]) -> None:
    """Write, by position of the user's argument, what :func:`spreads_of` reads."""
    function.attributes[_SPREADS] = ir.DictAttr.get(
        {
            str(position): ir.DictAttr.get(
                {
                    "name": ir.StringAttr.get(s.name),
                    "kind": ir.TypeAttr.get(s.kind),
                    "declared": ir.StringAttr.get(s.declared),
                    "channels": ir.IntegerAttr.get(ir.IntegerType.get_signless(64), s.channels),
                    "wide": ir.BoolAttr.get(s.wide),
                    "packed": ir.BoolAttr.get(s.packed),
                }
            )
            for position, s in spreads.items()
        }
    )


def spreads_of(function: ir.Operation) -> dict[int, Spread]:
    """The arrays of a top function of which lines pass, by position of the user's argument."""
    if _SPREADS not in function.attributes:
        return {}
    found = {}
    for each in ir.DictAttr(function.attributes[_SPREADS]):
        fields = ir.DictAttr(each.attr)
        found[int(each.name)] = Spread(
            ir.StringAttr(fields["name"]).value,
            ir.MemRefType(ir.TypeAttr(fields["kind"]).value),
            ir.StringAttr(fields["declared"]).value,
            ir.IntegerAttr(fields["channels"]).value,
            ir.BoolAttr(fields["wide"]).value,
            ir.BoolAttr(fields["packed"]).value,
        )
    return found


def spread_positions(function: ir.Operation) -> frozenset[int]:
    """The positions of the parameters of a top function through which lines pass."""
    spreads = spreads_of(function)
    if not spreads:
        return frozenset()
    counts = split_counts(function, 0)
    return frozenset(
        sum(counts[:position]) + channel
        for position, spread in spreads.items()
        for channel in range(spread.channels)
        if spread.wide
    )
