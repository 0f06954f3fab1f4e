"""LOGISTIC, TANH and SOFTMAX of int16."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from allo.models.integers.arithmetic import Array

from ..fixedpoint import times
from ..network import Network, Node
from ..operators.interpolated import RANGE, SHIFTS
from ..scales import quantised
from ..tables import logistic_16, logistic_factor, powers_16, reciprocals_16


def sigmoid(network: Network, node: Node, operands: Sequence[Any]) -> Array:
    """LOGISTIC or TANH."""
    factor, shift = logistic_factor(network.operand(node, 0).scale, SHIFTS[node.kind])
    table = logistic_16().astype(np.int64)
    x = operands[0].astype(np.int64) * factor
    x = (x + ((1 << shift) >> 1)) >> shift
    digits = 9 if node.kind == "LOGISTIC" else 8
    place, rest = np.abs(x) >> digits, np.abs(x) & ((1 << digits) - 1)
    near = np.minimum(place, 254)
    line = (table[near] << digits) + rest * (table[near + 1] - table[near])
    if node.kind == "LOGISTIC":
        line = np.where(place >= 255, 0x7FFF << 10, line)
        return np.asarray(np.where(x >= 0, line + 512, (1 << 25) - line + 511) >> 10)
    line = np.where(place >= 255, 0xFFFF << 8, line)
    return np.asarray(np.where(x >= 0, line - (1 << 23) + 128, (1 << 23) - line + 127) >> 8)


def _looked_up(table: Array, values: Array) -> Array:
    """The line between two places of a table of 16 bits."""
    place, rest = 256 + (values >> 7), values & 127
    slope = (table[place + 1] - table[place]).astype(np.int16).astype(np.int64)
    return np.asarray(table[place] + ((slope * rest + 64) >> 7))


def softmax(network: Network, node: Node, operands: Sequence[Any]) -> Array:
    """SOFTMAX over the last dimension."""
    rows = operands[0].astype(np.int64)
    factor = quantised(network.operand(node, 0).scale * node.options.Beta() / RANGE)
    steps = times(rows - rows.max(-1, keepdims=True), *factor) + 32767
    powers = _looked_up(powers_16().astype(np.int64), np.clip(steps, -32768, 32767))
    sums = powers.sum(-1, keepdims=True)
    leading = 32 - np.frexp(sums.astype(np.float64))[1].astype(np.int64)
    shifted = ((sums << (leading - 1)) + (1 << 13)) >> 14
    middle = np.clip(shifted - (1 << 15) - (1 << 16), -32768, 32767)
    shares = _looked_up(reciprocals_16().astype(np.int64), middle)
    right = 31 - leading
    return np.asarray(np.clip((powers * shares + (1 << (right - 1))) >> right, 0, 32767))
