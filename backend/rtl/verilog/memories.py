"""Attributes of memories, from which Yosys and Vivado choose their blocks.

``ram_style = "ultra"`` asks for blocks of 288 kbit, which neither of them takes by itself.
``no_rw_check`` tells Yosys that no word is read in the cycle in which it is written; nothing then has to
be put beside a block whose ports do not agree about that cycle.
"""

from __future__ import annotations

import re
from collections.abc import Collection

APART = "stored_apart"
"""The name of a memory of which no word is read in the cycle in which it is written."""
_MEMORY = re.compile(r"^(\s*)(reg +(?:\[\d+:0\] +)?(\w+)\[0:\d+\];)", re.MULTILINE)


def mark_memories(module: str, ultra: Collection[str] = ()) -> str:
    """The text of a module with attributes in front of its memories; ``ultra`` names the large ones."""

    def marked(found: re.Match[str]) -> str:
        name = found[3]
        told = [*(["no_rw_check"] if name == APART else [])]
        told += ['ram_style = "ultra"'] if name in ultra else []
        return f"{found[1]}(* {', '.join(told)} *)\n{found[0]}" if told else found[0]

    return _MEMORY.sub(marked, module)
