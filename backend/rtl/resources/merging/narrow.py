"""Registers of a module that hold operands as they come, and bits of them that are not worth a register.

A unit takes operands as wide as its result, and the module around it may extend a narrower value to that,
or give one value to many units. Synthesis, which flattens the design, makes the registers of equal bits one,
and has none for bits that are zero.
"""

from __future__ import annotations

from collections.abc import Mapping

from ..nodes import ZERO, Node, Value, cut, significant

Place = tuple[str, int, int, str]
"""Bits of an input port behind a register, and its enable: port, first bit, bits, port of the enable."""
Held = dict[Place, int]
"""How many registers one behind another hold the bits of a place."""


def held_inputs(nodes: list[Node], ports: Mapping[int, str]) -> dict[int, tuple[Place, int]]:
    """The registers without a reset that hold bits of input ports as they come.

    Args:
        ports: by node, the input port that it is.

    Returns:
        By register the bits, and which register of those behind each other it is.
    """
    places: dict[int, tuple[Place, int]] = {}
    for number, node in enumerate(nodes):
        if node.kind != "register" or "r" in node.detail or len(node.operands[0]) != 1:
            continue
        source, low, count = node.operands[0][0]
        enable = ports.get(node.operands[1][0][0]) if node.detail else ""
        if enable is None:
            continue
        if source in ports and low >= 0:
            place, depth = (ports[source], low, count, enable), 1
        elif source in places and (low, count) == (0, node.width):
            place, depth = places[source][0], places[source][1] + 1
        else:
            continue
        places[number] = place, depth
    return places


def wanted_of(registers: Mapping[int, tuple[Place, int]], nodes: list[Node]) -> Held:
    """What registers hold, up to the last bit that something reads: the bits above have no register."""
    found: dict[Place, tuple[int, int]] = {}
    for number, (place, depth) in registers.items():
        bits, rows = found.get(place, (0, 0))
        found[place] = max(bits, nodes[number].wanted.bit_length()), max(rows, depth)
    return {
        (port, low, min(count, bits), enable): rows
        for (port, low, count, enable), (bits, rows) in found.items()
        if bits
    }


class Operands:
    """What the instances in one module are given, one after the other."""

    def __init__(self) -> None:
        self._rows: dict[tuple[Value, Value], int] = {}

    def merged_of(self, held: Held, inputs: Mapping[str, Value]) -> list[tuple[int, int]]:
        """The registers of an instance that synthesis does without: rows and bits.

        They hold bits that extend a value, or what those of an instance before it hold at the same time.
        """
        found = []
        for (port, low, count, enable), rows in held.items():
            value = inputs.get(port)
            if value is None:
                continue
            extra = min(count, max(0, low + count - significant(value)[0]))
            if extra:
                found.append((rows, extra))
            kept = cut(value, low, count - extra)
            if not enable or not kept or all(node == ZERO for node, _, _ in kept):
                continue
            key = kept, inputs.get(enable, ())
            shared = min(rows, self._rows.get(key, 0))
            if shared:
                found.append((shared, count - extra))
            self._rows[key] = max(rows, self._rows.get(key, 0))
        return found
