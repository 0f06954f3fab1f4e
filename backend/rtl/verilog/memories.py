"""Attributes of memories, from which Yosys and Vivado choose their blocks.

``ram_style`` asks for a kind: ``"ultra"`` for blocks of 288 kbit, which neither of them takes by itself,
``"block"`` for others, ``"distributed"`` for lookup tables.
``no_rw_check`` tells Yosys that no word is read, for use, in the cycle in which it is written; nothing then
has to be put beside a block whose ports do not agree about that cycle, and a block of which Yosys does not
know what it then reads, as DP16KD, can have two ports that both read and write.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

BLOCK, ULTRA, DISTRIBUTED = "block", "ultra", "distributed"
SEPARATE = "allo.separate"
"""What the text of a memory says of which no word is read, for use, in the cycle in which it is written."""
_STYLE = re.compile(r'allo\.style = "(\w+)"')
_TOLD = re.compile(r"seq\.hlmem @([\w$.]+) [^{]*\{(allo\.[^}]*)\}")
_MODULE = re.compile(r"^hw\.module (?:private )?@([\w$.]+)")
_MEMORY = re.compile(r"\n(\s*)reg +(?:\[\d+:0\] +)?(\w+)\[0:\d+\];")


def traits(*, separate: bool, style: str = "") -> str:
    """What the text of a memory says of it, with a space in front; "" for nothing.

    Args:
        separate: whether no word is read, for use, in the cycle in which it is written.
        style: what it is to be made of, "" where this is the synthesiser's choice.
    """
    told = [SEPARATE] if separate else []
    told += [f'allo.style = "{style}"'] if style else []
    return f" {{{', '.join(told)}}}" if told else ""


def style_of(text: str) -> str:
    """What the text of a memory says it is to be made of; "" for nothing."""
    found = _STYLE.search(text)
    return found[1] if found else ""


def told_memories(text: str) -> dict[str, dict[str, tuple[str, ...]]]:
    """The attributes in Verilog of memories of whose text says more than their sizes, by module and name."""
    found: dict[str, dict[str, tuple[str, ...]]] = {}
    module = ""
    for line in text.splitlines() if "{allo." in text else ():
        if (head := _MODULE.match(line)) is not None:
            module = head[1]
        elif (memory := _TOLD.search(line)) is not None:
            style = style_of(memory[2])
            told = ["no_rw_check"] if SEPARATE in memory[2] else []
            told += [_styled(style)] if style else []
            found.setdefault(module, {})[memory[1]] = tuple(told)
    return found


def mark_memories(
    module: str, ultra: Collection[str] = (), told: Mapping[str, tuple[str, ...]] | None = None
) -> str:
    """The text of a module with attributes in front of its memories.

    Args:
        ultra: names of those that are to be blocks of 288 kbit.
        told: by name the attributes that were told.
    """

    said = told or {}

    def marked(found: re.Match[str]) -> str:
        large = (_styled(ULTRA),) if found[2] in ultra else ()
        all_told = dict.fromkeys([*said.get(found[2], ()), *large])
        mark = f"\n{found[1]}(* {', '.join(all_told)} *)" if all_told else ""
        return f"{mark}{found[0]}"

    return _MEMORY.sub(marked, module) if said or ultra else module


def _styled(style: str) -> str:
    return f'ram_style = "{style}"'
