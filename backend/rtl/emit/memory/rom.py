"""One bank of a constant table: a memory with initial contents, read through any number of ports.

The Verilog is a memory that an ``initial`` block sets, which simulators read quickly and synthesis makes
a ROM of. The in-process simulator takes the same words as a constant.
"""

from __future__ import annotations

from collections.abc import Sequence

from allo.dialects.diagnostics import SourcePlace

from ...graph.linear import bits_unsigned
from ...netlist.memories import ConstantArray, Element, Table, TableRead
from ..builder import ModuleBuilder


class RomBank:
    """A table of a module, declared where it is made.

    Args:
        name: of the memory (from :meth:`ModuleBuilder.named`).
        words: unsigned bit patterns.
    """

    def __init__(
        self,
        text: ModuleBuilder,
        name: str,
        words: Sequence[int],
        width: int,
        place: SourcePlace | None,
    ) -> None:
        self._text, self._name, self._place = text, name, place
        self._width = width
        self._address_bits = bits_unsigned(len(words) - 1)
        padded = [*words, *[0] * ((1 << self._address_bits) - len(words))]
        self._words, self._padded = len(words), len(padded)
        text.styled(Table(name, words, width, text.name), ConstantArray(name, padded, width), place)

    def read(self, address: str) -> str:
        """The word at an address, in the same cycle."""
        text, value = self._text, self._text.fresh()
        index = text.signal(f"{self._name[1:]}_addr", address, self._address_bits, self._place)
        width, bits = self._width, self._address_bits
        text.styled(
            TableRead(value, (self._name, index), self._words, width, bits),
            Element(value, (self._name, address), self._padded, width, bits),
            self._place,
        )
        return value
