"""Attributes of memories, from which Yosys and Vivado choose their blocks.

``ram_style = "ultra"`` asks for blocks of 288 kbit, which neither of them takes by itself.
``no_rw_check`` tells Yosys that no word is read, for use, in the cycle in which it is written; nothing then
has to be put beside a block whose ports do not agree about that cycle, and a block of which Yosys does not
know what it then reads, as DP16KD, can have two ports that both read and write.
"""

from __future__ import annotations

import re
from collections.abc import Collection

SEPARATE = "{allo.separate}"
"""What the text of a memory says of which no word is read, for use, in the cycle in which it is written."""
_SEPARATE = re.compile(r"seq\.hlmem @([\w$.]+) .*" + re.escape(SEPARATE))
_MODULE = re.compile(r"^hw\.module (?:private )?@([\w$.]+)")
_MEMORY = re.compile(r"^(\s*)(reg +(?:\[\d+:0\] +)?(\w+)\[0:\d+\];)", re.MULTILINE)


def separate_memories(text: str) -> dict[str, frozenset[str]]:
    """The memories of a design, by module, that its text calls separate."""
    if SEPARATE not in text:
        return {}
    found: dict[str, frozenset[str]] = {}
    module = ""
    for line in text.splitlines():
        if (head := _MODULE.match(line)) is not None:
            module = head[1]
        elif SEPARATE in line and (memory := _SEPARATE.search(line)) is not None:
            found[module] = found.get(module, frozenset()) | {memory[1]}
    return found


def mark_memories(module: str, ultra: Collection[str] = (), separate: Collection[str] = ()) -> str:
    """The text of a module with attributes in front of its memories.

    Args:
        ultra: names of the large ones.
        separate: names of those of which no word is read, for use, in the cycle in which it is written.
    """

    def marked(found: re.Match[str]) -> str:
        name = found[3]
        told = ["no_rw_check"] if name in separate else []
        told += ['ram_style = "ultra"'] if name in ultra else []
        return f"{found[1]}(* {', '.join(told)} *)\n{found[0]}" if told else found[0]

    return _MEMORY.sub(marked, module)
