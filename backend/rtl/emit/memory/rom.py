"""One bank of a constant table: a memory with initial contents, read through any number of ports.

The Verilog is a memory that an ``initial`` block sets, which simulators read quickly and synthesis makes
a ROM of. The in-process simulator takes the same words as a constant.
"""

from __future__ import annotations

from collections.abc import Sequence

from allo.dialects.diagnostics import SourcePlace

from ...graph.linear import bits_unsigned
from ...operators.hw_text import constant_text
from ..text import ModuleText

WORDS_A_LINE = 4
LISTED = 256
"""Words of a table that are set one by one; those of longer ones stand in literals of several."""
LITERAL_BITS = 1024


class RomBank:
    """A table of a module, declared where it is made.

    Args:
        name: of the memory (from :meth:`ModuleText.named`).
        words: unsigned bit patterns.
    """

    def __init__(
        self,
        text: ModuleText,
        name: str,
        words: Sequence[int],
        width: int,
        place: SourcePlace | None,
    ) -> None:
        self._text, self._name, self._place = text, name, place
        self._width = width
        self._address_bits = bits_unsigned(len(words) - 1)
        padded = [*words, *[0] * ((1 << self._address_bits) - len(words))]
        self._native_kind = f"!hw.array<{len(padded)}xi{width}>"
        self._kind = f"!hw.inout<uarray<{len(words)}xi{width}>>"
        listed = ", ".join(f"{constant_text(v, width)} : i{width}" for v in reversed(padded))
        symbol = name[1:]
        text.styled(
            f"{name} = sv.reg sym @{symbol} : {self._kind}",
            f"{name} = hw.aggregate_constant [{listed}] : {self._native_kind}",
            place,
        )
        where = f"[#hw.innerNameRef<@{text.name}::@{symbol}>]"
        lines = "\\0A".join(_lines(words, width))
        text.rtl_line(
            f'sv.initial {{ sv.verbatim "{lines}" {{symbols = {where}}}{text.suffix(place)} }}',
            place,
        )

    def read(self, address: str) -> str:
        """The word at an address, in the same cycle."""
        text, value, word = self._text, self._text.fresh(), self._text.fresh()
        index = text.signal(f"{self._name[1:]}_addr", address, self._address_bits, self._place)
        text.rtl_line(
            f"{word} = sv.array_index_inout {self._name}[{index}] : {self._kind}, "
            f"i{self._address_bits}",
            self._place,
        )
        text.styled(
            f"{value} = sv.read_inout {word} : !hw.inout<i{self._width}>",
            f"{value} = hw.array_get {self._name}[{address}] : {self._native_kind}, "
            f"i{self._address_bits}",
            self._place,
        )
        return value


def _lines(words: Sequence[int], width: int) -> list[str]:
    """What sets the memory ``{{0}}``; Icarus Verilog 11 takes no pattern for the whole of it."""
    if len(words) <= LISTED:
        listed = [f"{{{{0}}}}[{k}] = {width}'h{word:x};" for k, word in enumerate(words)]
        return [" ".join(listed[k : k + WORDS_A_LINE]) for k in range(0, len(listed), WORDS_A_LINE)]
    together = max(1, LITERAL_BITS // width)
    return [_several(k, words[k : k + together], width) for k in range(0, len(words), together)]


def _several(first: int, words: Sequence[int], width: int) -> str:
    """Words in a row from one literal, the first in its lowest bits."""
    whole = sum(word << (width * k) for k, word in enumerate(words))
    return (
        f"for (int k = 0; k < {len(words)}; k = k + 1) {{{{0}}}}[{first} + k] = "
        f"{width}'({width * len(words)}'h{whole:x} >> ({width} * k));"
    )
