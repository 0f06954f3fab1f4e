"""Functions of one element: of int8 by table, of int16 by factors and bounds; floats at the ends."""

from __future__ import annotations

import numpy as np

from ..building import Building
from ..functions import FUNCTIONS
from ..network import INTEGERS, Node
from ..scales import quantised, single_ratio, within
from . import interpolated
from .family import Conversion

_BOUNDED = {"RELU": (0.0, None), "RELU6": (0.0, 6.0)}
"""Of int16: the others are kernels of int8 only."""


def _function(building: Building, node: Node) -> None:
    source, result = building.network.operand(node, 0), building.network.result(node)
    building.check_integers(node, source, result)
    if (
        node.kind == "HARD_SWISH"
        and quantised(
            float(np.float32(1 / 128) * np.float32(source.scale) / np.float32(result.scale))
        )[1]
        > 0
    ):
        raise building.refusal(
            node, "has a result on a finer scale than a 128th of its input's", "coarser scales."
        )
    if source.dtype == "int8" and result.dtype == "int8":
        table = FUNCTIONS[node.kind](building.network, node).astype(np.int8)
        args = {
            "input": building.value(source),
            "table": building.constant(node, "table", table),
            "function": node.word,
        }
        building.add(node, "quantized.lookup", args, result)
        return
    if node.kind in interpolated.SHIFTS:
        interpolated.sigmoid(building, node)
        return
    if node.kind not in (*_BOUNDED, "LEAKY_RELU", "QUANTIZE"):
        raise building.refusal(
            node, f"is of {source.dtype}", f"{node.kind} of int8 is supported, by a table."
        )
    low, high = within(result, *_BOUNDED.get(node.kind, (None, None)))
    ratio = source.scale / result.scale if node.kind == "QUANTIZE" else single_ratio(source, result)
    args = {
        "input": building.value(source),
        "zero_input": source.zero,
        "zero": result.zero,
        "low": low,
        "high": high,
        **building.ending(node, "factor", [quantised(ratio)]),
    }
    if node.kind == "LEAKY_RELU":
        below = quantised(single_ratio(source, result, node.options.Alpha()))
        args |= building.ending(node, "below", [below])
    building.add(node, "tflite.rescale", args, result)


def _quantize(building: Building, node: Node) -> None:
    source, result = building.network.operand(node, 0), building.network.result(node)
    if source.dtype in INTEGERS:
        _function(building, node)
        return
    if source.dtype != "float32":
        raise building.refusal(node, f"quantises {source.dtype}", "float32, int8 and int16 are.")
    building.check_integers(node, result)
    low, high = result.bounds
    args = {
        "input": building.value(source),
        "scale": result.scale,
        "zero": result.zero,
        "low": low,
        "high": high,
    }
    building.add(node, "tflite.quantize", args, result)


def _dequantize(building: Building, node: Node) -> None:
    source, result = building.network.operand(node, 0), building.network.result(node)
    building.check_integers(node, source)
    args = {"input": building.value(source), "scale": source.scale, "zero_input": source.zero}
    building.add(node, "tflite.dequantize", args, result)


CONVERSIONS: dict[str, Conversion] = {
    **dict.fromkeys(FUNCTIONS, _function),
    "QUANTIZE": _quantize,
    "DEQUANTIZE": _dequantize,
}
