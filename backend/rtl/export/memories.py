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

from ..netlist.memories import ULTRA, Memory
from ..netlist.modules import Netlist

_MEMORY = re.compile(r"\n(\s*)reg +(?:\[\d+:0\] +)?(\w+)\[0:\d+\];")


def told_memories(netlist: Netlist) -> dict[str, dict[str, tuple[str, ...]]]:
    """The attributes in Verilog of memories of which more than their sizes is known, by module and name."""
    found: dict[str, dict[str, tuple[str, ...]]] = {}
    for module in netlist.modules:
        for op in module.operations:
            if isinstance(op, Memory) and (op.separate or op.style):
                told = ["no_rw_check"] if op.separate else []
                told += [_styled(op.style)] if op.style else []
                found.setdefault(module.name, {})[op.result[1:]] = tuple(told)
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
