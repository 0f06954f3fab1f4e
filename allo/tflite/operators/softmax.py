"""SOFTMAX; of int8: exponentials by table, their sum's reciprocal by three steps of Newton's method."""

from __future__ import annotations

from ..building import Building
from ..network import Node
from ..tables import exponentials
from . import interpolated
from .family import Conversion


def _softmax(building: Building, node: Node) -> None:
    source, result = building.network.operand(node, 0), building.network.result(node)
    building.check_integers(node, source, result)
    if source.dtype != result.dtype:
        raise building.refusal(
            node, f"makes {result.dtype} of {source.dtype}", "one type before and behind a softmax."
        )
    if source.shape[-1] >= 1 << 12:
        raise building.refusal(
            node,
            f"is over {source.shape[-1]} elements",
            "its kernel sums up to 4,095 exponentials.",
        )
    if source.dtype == "int16":
        interpolated.softmax(building, node)
        return
    table = exponentials(source.scale, node.options.Beta())
    args = {
        "input": building.value(source),
        "table": building.constant(node, "exponentials", table),
    }
    building.add(node, "tflite.softmax", args, result)


CONVERSIONS: dict[str, Conversion] = {"SOFTMAX": _softmax}
