"""SOFTMAX of int8 in fixed point."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from allo.models.integers.arithmetic import Array

from ..fixedpoint import divided, high, raised
from ..network import Network, Node
from ..tables import exponentials
from .family import Compute
from .interpolated import softmax

_DIGITS = 12


def _softmax(network: Network, node: Node, operands: Sequence[Any]) -> Array:
    if operands[0].dtype == np.int16:
        return softmax(network, node, operands)
    rows = operands[0].astype(np.int64)
    table = exponentials(network.operand(node, 0).scale, node.options.Beta()).astype(np.int64)
    powers = table[rows.max(-1, keepdims=True) - rows]
    sums = divided(powers, _DIGITS).sum(-1, keepdims=True)
    leading = 32 - np.frexp(sums.astype(np.float64))[1].astype(np.int64)
    share = _reciprocal((sums << leading) - (1 << 31))
    levels = divided(high(share, powers), _DIGITS - leading + 31 - 8)
    return np.asarray(np.clip(levels - 128, -128, 127))


def _reciprocal(x: Array) -> Array:
    """``1 / (1 + x)`` for x of 0 … 1, in units of 2 ** -31."""
    half = (x + ((1 << 31) - 1) + 1) // 2
    guess = 1515870810 + high(half, -1010580540)
    for _ in range(3):
        guess = guess + raised(high(guess, (1 << 29) - high(half, guess)), 2)
    return raised(guess, 1)


COMPUTE: dict[str, Compute] = {"SOFTMAX": _softmax}
