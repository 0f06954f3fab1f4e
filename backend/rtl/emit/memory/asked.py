"""Memories whose kind the source asks for: ``t: int32[600] @ allo.Memory(resource="URAM")``.

Where a memory can be of this kind, its declaration says so to the synthesiser, and the estimate counts it
so. Where it cannot, a note of the report says why, and it is chosen by its size, as others are.
"""

from __future__ import annotations

import re

from allo.dialects.memories import kinds_of

from ...graph.nodes import Array
from ...graph.regions import Function
from ...netlist.memories import BLOCK, DISTRIBUTED, ULTRA
from ...plan.bind import Binding, PortUse
from ...plan.explain import short

_STYLES = {"BRAM": BLOCK, "URAM": ULTRA, "LUTRAM": DISTRIBUTED}
_SPACE = re.compile(r"(\d+)(?: : i\d+)?")


def ask_for_memories(function: Function, binding: Binding, device: str, *, has_ultra: bool) -> None:
    """Set :attr:`.Array.style` of the arrays of a function that ask for a kind of memory.

    Args:
        device: its name, for notes.
        has_ultra: whether it has blocks of 288 kbit.
    """
    for array in function.arrays:
        resource = _resource(array)
        if resource == "AUTO" or array.storage == "port":
            continue
        uses = binding.ports.get(array.number, {})
        reason = _obstacle(array, resource, uses, device if not has_ultra else "")
        if not reason:
            array.style = _STYLES[resource]
            continue
        place = f" ({short(array.place)})" if array.place else ""
        function.notes.append(
            f'{array.name}{place} asks for Memory(resource="{resource}"), which has no effect: {reason}.'
        )


def _resource(array: Array) -> str:
    """BRAM, URAM, LUTRAM or SRL; AUTO where none is asked for."""
    space = _SPACE.fullmatch(array.space)
    return kinds_of(int(space[1]))[0] if space else "AUTO"


def _obstacle(
    array: Array, resource: str, uses: dict[tuple[int, int], PortUse], without_ultra: str
) -> str:
    """Why a memory cannot be of a kind, "" where it can."""
    if array.storage == "reg":
        return "each of its banks is one word, a register"
    if array.storage == "rom":
        return "it is a constant table, whose memory the synthesiser chooses"
    if resource == "SRL":
        return "an array is written at any address, and a shift register only at its end"
    writes, reads = _most(uses, writes=True), _most(uses, writes=False)
    if resource == "LUTRAM" and writes > 1:
        return "two of its ports write, and lookup tables have one that does"
    if resource != "URAM":
        return ""
    if without_ultra:
        return f"{without_ultra} has no blocks of 288 kbit"
    if writes > 1 or reads > 1:
        return "it needs more than one port to read and one to write"
    return ""


def _most(uses: dict[tuple[int, int], PortUse], *, writes: bool) -> int:
    """The most ports of a bank that write, or that read."""
    counts: dict[int, int] = {}
    for (bank, _), use in uses.items():
        counts[bank] = counts.get(bank, 0) + (use.writes if writes else use.reads)
    return max(counts.values(), default=0)
