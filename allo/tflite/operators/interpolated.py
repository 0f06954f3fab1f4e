"""LOGISTIC, TANH and SOFTMAX of int16: lines between the places of tables."""

from __future__ import annotations

from ..building import Building
from ..network import Node
from ..scales import quantised
from ..tables import logistic_16, logistic_factor, powers_16, reciprocals_16

SHIFTS = {"LOGISTIC": (0,), "TANH": (0, 1)}
"""Scales of the input, as powers of two above 2 ** -12, that need no shift."""
RANGE = 10.0 / 65535.0
"""What one step of the difference from a row's greatest element stands for, in a softmax."""


def sigmoid(building: Building, node: Node) -> None:
    """LOGISTIC or TANH."""
    source, result = building.network.operand(node, 0), building.network.result(node)
    factor, shift = logistic_factor(source.scale, SHIFTS[node.kind])
    args = {
        "input": building.value(source),
        "table": building.constant(node, "table", logistic_16()),
        "factor": factor,
        "shift": shift,
    }
    building.add(node, f"tflite.{node.word}_16", args, result)


def softmax(building: Building, node: Node) -> None:
    """SOFTMAX."""
    source, result = building.network.operand(node, 0), building.network.result(node)
    factor = quantised(source.scale * node.options.Beta() / RANGE)
    args = {
        "input": building.value(source),
        "powers": building.constant(node, "powers", powers_16()),
        "reciprocals": building.constant(node, "reciprocals", reciprocals_16()),
        **building.ending(node, "factor", [factor]),
    }
    building.add(node, "tflite.softmax_16", args, result)
