"""The word of one bank among several, by the bank's position."""

from __future__ import annotations

from allo.dialects.diagnostics import SourcePlace

from ...netlist.memories import ArrayCreate, Element
from ...netlist.operations import Wire
from ..builder import ModuleBuilder


def pick(
    text: ModuleBuilder,
    result: str,
    words: list[str],
    position: tuple[str, int],
    width: int,
    array: str,
    place: SourcePlace | None,
) -> None:
    """Let ``result``, a name from ``text.named``, be one of the words.

    Args:
        position: which of them, and the bits of that number.
        width: bits of a word.
        array: its name, for the number's.
    """
    chosen, bits = position
    listed = words + [words[0]] * ((1 << bits) - len(words))
    table, picked = text.fresh(), text.fresh()
    text.add(ArrayCreate(table, tuple(reversed(listed)), width), place)
    named = text.signal(f"{array}_bank", chosen, bits, place)
    size = 1 << bits, width, bits
    text.styled(
        Element(picked, (table, named), *size), Element(result, (table, chosen), *size), place
    )
    text.rtl_only(Wire(result, picked, width, visible=True), place)
