"""Sums and products of two activations, on scales of their own."""

from __future__ import annotations

from typing import Any

from ..building import Building
from ..network import Node, TensorInfo
from ..scales import LEFT_SHIFT, clamped, product_factor, sum_factors
from .family import Conversion


def _operands(building: Building, node: Node) -> tuple[TensorInfo, TensorInfo, TensorInfo]:
    network = building.network
    left, right, result = network.operand(node, 0), network.operand(node, 1), network.result(node)
    building.check_integers(node, left, right, result)
    return left, right, result


def _bounds(node: Node, result: TensorInfo) -> dict[str, Any]:
    low, high = clamped(result, node.options.FusedActivationFunction())
    return {"zero": result.zero, "low": low, "high": high}


def _sum(building: Building, node: Node, sign: int) -> None:
    left, right, result = _operands(building, node)
    first, second, whole = sum_factors(left, right, result)
    args = {
        "self": building.value(left),
        "other": building.value(right),
        "zero_left": left.zero,
        "zero_right": right.zero,
        "shift": LEFT_SHIFT[result.dtype],
        "sign": sign,
        **building.ending(node, "first", [first]),
        **building.ending(node, "second", [second]),
        **building.ending(node, "factor", [whole]),
        **_bounds(node, result),
    }
    building.add(node, "tflite.add" if sign > 0 else "tflite.sub", args, result)


def _add(building: Building, node: Node) -> None:
    _sum(building, node, 1)


def _sub(building: Building, node: Node) -> None:
    _sum(building, node, -1)


def _mul(building: Building, node: Node) -> None:
    left, right, result = _operands(building, node)
    args = {
        "self": building.value(left),
        "other": building.value(right),
        "zero_left": left.zero,
        "zero_right": right.zero,
        **building.ending(node, "factor", [product_factor(left, right, result)]),
        **_bounds(node, result),
    }
    building.add(node, "tflite.mul", args, result)


CONVERSIONS: dict[str, Conversion] = {"ADD": _add, "SUB": _sub, "MUL": _mul}
