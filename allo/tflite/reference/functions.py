"""Functions of one element."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from allo.models.integers.arithmetic import Array

from ..functions import FUNCTIONS, leaky_levels, relu_levels, requantised_levels
from ..network import Network, Node
from .family import Compute, centred
from .interpolated import sigmoid


def _function(network: Network, node: Node, operands: Sequence[Any]) -> Array:
    source, result = network.operand(node, 0), network.result(node)
    if source.dtype == "int8" and result.dtype == "int8":
        table = FUNCTIONS[node.kind](network, node)
        return np.asarray(table[operands[0].astype(np.int64) - source.bounds[0]])
    values = centred(source, operands[0])
    if node.kind in ("LOGISTIC", "TANH"):
        return sigmoid(network, node, operands)
    if node.kind == "LEAKY_RELU":
        return leaky_levels(node, source, result, values)
    if node.kind == "QUANTIZE":
        return requantised_levels(source, result, values)
    return relu_levels(node.kind, source, result, values)


def _quantize(network: Network, node: Node, operands: Sequence[Any]) -> Array:
    source, result = network.operand(node, 0), network.result(node)
    if source.dtype != "float32":
        return _function(network, node, operands)
    scaled = operands[0] / np.float32(result.scale)
    whole = np.trunc(scaled)
    rounded = whole + np.where(np.abs(scaled - whole) >= 0.5, np.sign(scaled), 0)
    return np.asarray(np.clip(rounded + np.float32(result.zero), *result.bounds))


def _dequantize(network: Network, node: Node, operands: Sequence[Any]) -> Array:
    source = network.operand(node, 0)
    return np.asarray(centred(source, operands[0]).astype(np.float32) * np.float32(source.scale))


COMPUTE: dict[str, Compute] = {
    **dict.fromkeys(FUNCTIONS, _function),
    "QUANTIZE": _quantize,
    "DEQUANTIZE": _dequantize,
}
