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
    network: Network,
    node: Node,
    sums: Array,
    bias: Any,
    channels: int,
    *,
    single: bool = False,
    source: int = 0,
) -> Array:
    image, weight, result = (
        network.operand(node, source),
        network.operand(node, 1),
        network.result(node),
    )
    rates = product_rates(image, weight, result, channels)
    factors = [quantised(rate) for rate in rates.tolist()]
    whole = sums.astype(np.int64)
    if bias is not None:
        whole = whole + bias.astype(np.int64)
    activation = node.options.FusedActivationFunction()
    if single:
        return limited(once(whole, rates), result, activation)
    if image.dtype == "int16" and (bias is None or bias.dtype == np.int64):
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


def _transposed(network: Network, node: Node, operands: Sequence[Any]) -> Array:
    """Each element of the image times its window, added where the window lies."""
    source, result, options = network.operand(node, 2), network.result(node), node.options
    weight = operands[1].astype(np.float64)
    image = centred(source, operands[2]).astype(np.float64)
    outs, *sizes, _ = weight.shape
    strides = (options.StrideH(), options.StrideW())
    spans, pads = [], []
    for d in range(2):
        span = (image.shape[1 + d] - 1) * strides[d] + sizes[d]
        pads.append(max(span - result.shape[1 + d], 0) // 2)
        spans.append(max(span, pads[d] + result.shape[1 + d]))
    sums = np.zeros((len(image), *spans, outs))
    for y, x in np.ndindex(*image.shape[1:3]):
        rows = slice(y * strides[0], y * strides[0] + sizes[0])
        columns = slice(x * strides[1], x * strides[1] + sizes[1])
        sums[:, rows, columns] += np.einsum("bc,oyxc->byxo", image[:, y, x], weight)
    cut = sums[:, pads[0] : pads[0] + result.shape[1], pads[1] : pads[1] + result.shape[2]]
    bias = operands[3] if len(operands) > 3 else None
    return _finished(network, node, cut, bias, outs, source=2)


COMPUTE: dict[str, Compute] = {
    "CONV_2D": _conv2d,
    "DEPTHWISE_CONV_2D": _depthwise,
    "FULLY_CONNECTED": _fully_connected,
    "TRANSPOSE_CONV": _transposed,
}
