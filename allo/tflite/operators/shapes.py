"""Operators that only move elements."""

from __future__ import annotations

from ..building import Building
from ..network import Node
from .family import Conversion


def _reshape(building: Building, node: Node) -> None:
    source, result = building.network.operand(node, 0), building.network.result(node)
    args = {"self": building.value(source), "size": list(result.shape)}
    building.add(node, "aten.view.default", args, result)


CONVERSIONS: dict[str, Conversion] = {
    "RESHAPE": _reshape,
    "SQUEEZE": _reshape,
    "EXPAND_DIMS": _reshape,
}
