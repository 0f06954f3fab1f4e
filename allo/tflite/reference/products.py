"""Convolutions and fully connected layers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from allo.models.integers.arithmetic import Array

from ..fixedpoint import once, wrapped
from ..network import Network, Node
from ..scales import product_rates, quantised
from .family import Compute, before, centred, ended, ended_wide, limited, windows


def _finished(
    network: Network, node: Node, sums: Array, bias: Any, channels: int, *, single: bool = False
) -> Array:
    source, weight, result = (
        network.operand(node, 0),
        network.operand(node, 1),
        network.result(node),
    )
    rates = product_rates(source, weight, result, channels)
    factors = [quantised(rate) for rate in rates.tolist()]
    whole = sums.astype(np.int64)
    if bias is not None:
        whole = whole + bias.astype(np.int64)
    activation = node.options.FusedActivationFunction()
    if single:
        return limited(once(whole, rates), result, activation)
    if source.dtype == "int16" and (bias is None or bias.dtype == np.int64):
        return ended_wide(whole, factors, result, activation)
    return ended(wrapped(whole), factors, result, activation)


def _bias(operands: Sequence[Any]) -> Any:
    return operands[2] if len(operands) > 2 else None


def _taken(network: Network, node: Node, image: Array, sizes: Sequence[int]) -> Array:
    source, result = network.operand(node, 0), network.result(node)
    pads = before(node.options, sizes, source, result)
    # Sums stay below 2 ** 53, so float64 is exact, and far faster than int64.
    floats = centred(source, image).astype(np.float64)
    return windows(floats, sizes, node.options, pads, result.shape, 0)


def _conv2d(network: Network, node: Node, operands: Sequence[Any]) -> Array:
    image, weight = operands[0], operands[1].astype(np.float64)
    outs, *sizes, ins = weight.shape
    taken = _taken(network, node, image, sizes)
    groups = image.shape[3] // ins
    each = outs // groups
    sums = np.zeros(network.result(node).shape)
    for number, place in enumerate(np.ndindex(*sizes)):
        for g in range(groups):
            part = taken[number][..., g * ins : (g + 1) * ins]
            chosen = slice(g * each, (g + 1) * each)
            sums[..., chosen] += part @ weight[(chosen, *place)].T
    return _finished(network, node, sums, _bias(operands), outs)


def _depthwise(network: Network, node: Node, operands: Sequence[Any]) -> Array:
    image, weight = operands[0], operands[1].astype(np.float64)
    _, *sizes, outs = weight.shape
    taken = np.repeat(_taken(network, node, image, sizes), outs // image.shape[3], -1)
    rows = weight.reshape(-1, 1, 1, 1, outs)
    return _finished(network, node, (taken * rows).sum(0), _bias(operands), outs)


def _fully_connected(network: Network, node: Node, operands: Sequence[Any]) -> Array:
    source, weight = network.operand(node, 0), network.operand(node, 1)
    rows = centred(source, operands[0]).reshape(-1, weight.shape[1]).astype(np.float64)
    sums = rows @ operands[1].astype(np.float64).T
    return _finished(network, node, sums, _bias(operands), len(operands[1]), single=True)


COMPUTE: dict[str, Compute] = {
    "CONV_2D": _conv2d,
    "DEPTHWISE_CONV_2D": _depthwise,
    "FULLY_CONNECTED": _fully_connected,
}
