"""Sums and products of two activations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from allo.models.integers.arithmetic import Array

from ..fixedpoint import times
from ..network import Network, Node
from ..scales import LEFT_SHIFT, product_factor, sum_factors
from .family import Compute, centred, ended


def _sum(network: Network, node: Node, operands: Sequence[Any]) -> Array:
    left, right, result = network.operand(node, 0), network.operand(node, 1), network.result(node)
    first, second, whole = sum_factors(left, right, result)
    shift = LEFT_SHIFT[result.dtype]
    a = times(centred(left, operands[0]) << shift, *first)
    b = times(centred(right, operands[1]) << shift, *second)
    sums = np.asarray(a + b if node.kind == "ADD" else a - b)
    return ended(sums, [whole], result, node.options.FusedActivationFunction())


def _mul(network: Network, node: Node, operands: Sequence[Any]) -> Array:
    left, right, result = network.operand(node, 0), network.operand(node, 1), network.result(node)
    products = centred(left, operands[0]) * centred(right, operands[1])
    factor = product_factor(left, right, result)
    return ended(products, [factor], result, node.options.FusedActivationFunction())


COMPUTE: dict[str, Compute] = {"ADD": _sum, "SUB": _sum, "MUL": _mul}
