"""Convolutions and fully connected layers: sums of products, requantised by channel."""

from __future__ import annotations

from typing import Any

import numpy as np

from allo.models.integers.arithmetic import Array

from ..building import Building
from ..fixedpoint import once, times
from ..network import Node, TensorInfo
from ..scales import clamped, product_rates, quantised
from ..steps import shortest
from .family import Conversion, window_padding

_ACTIVATIONS = (0, 1, 2, 3)


def _weights(building: Building, node: Node, number: int = 1) -> TensorInfo:
    weight = building.network.operand(node, number)
    if weight.data is None or weight.dtype not in ("int8", "int4"):
        raise building.refusal(
            node,
            f"has weights {weight.name!r} that are "
            + ("no constant" if weight.data is None else weight.dtype),
            "weights are constants of int8 (or int4) in the file.",
        )
    if np.any(weight.zeros):
        raise building.refusal(
            node, f"has weights {weight.name!r} with a zero point", "weights are symmetric."
        )
    return weight


def _bias(building: Building, node: Node, number: int) -> TensorInfo | None:
    bias = building.network.optional(node, number)
    if bias is not None and bias.data is None:
        raise building.refusal(
            node, f"has the bias {bias.name!r} that is no constant", "a bias stands in the file."
        )
    return bias


def ended(
    building: Building,
    node: Node,
    operands: tuple[TensorInfo, TensorInfo, TensorInfo | None, TensorInfo],
    rows: Array,
    activation: int,
    *,
    single: bool = False,
) -> dict[str, Any]:
    """The arguments of a product that say how it sums, and what becomes of a sum.

    Args:
        building: the graph.
        node: the operator.
        operands: input, weights, bias and result.
        rows: the weights of each channel.
        activation: the fused one.
        single: whether sums are rounded once, as fully connected layers do.
    """
    source, weight, bias, result = operands
    building.check_integers(node, source, result)
    if activation not in _ACTIVATIONS:
        raise building.refusal(
            node, f"has the fused activation {activation}", "RELU, RELU_N1_TO_1 and RELU6 are."
        )
    wide = source.dtype == "int16" and (bias is None or bias.dtype == "int64")
    low, high = source.bounds
    largest = max(abs(low - source.zero), abs(high - source.zero))
    bound = np.abs(rows.astype(np.int64)).sum(1) * largest
    added = None
    if bias is not None and bias.data is not None:
        added = bias.data.reshape(-1)
        bound = bound + np.abs(added.astype(np.int64))
    bits = int(bound.max()).bit_length() + 1
    least, most = clamped(result, activation)
    bits = min(bits, 64 if wide else 32)
    arguments: dict[str, Any] = {
        "bias": None if added is None else building.weight(node, "bias", added),
        "bits": bits,
        "zero_input": source.zero,
        "zero": result.zero,
        "low": least,
        "high": most,
    }
    rates = product_rates(source, weight, result, len(rows))
    factors = [quantised(rate) for rate in rates.tolist()]
    if not single and (wide or result.dtype == "int16"):
        return arguments | building.ending(node, "factor", factors, wide=wide)
    mantissas, exponents = (np.array(each)[:, None] for each in zip(*factors, strict=True))
    found = shortest(
        (lambda sums: once(sums, rates[:, None]))
        if single
        else (lambda sums: times(sums, mantissas, exponents)),
        rates,
        bound,
        least - result.zero,
        most - result.zero,
    )
    if found is not None:
        return arguments | building.staircase(node, "factor", found, bits)
    if single:
        raise building.refusal(
            node,
            f"multiplies sums by {rates.max():.3g}, which no integers do as its kernel does",
            "scales of usual size: a sum stands for at most a few levels of the result.",
        )
    return arguments | building.ending(node, "factor", factors)


def _window(
    options: Any, sizes: tuple[int, ...], source: TensorInfo, result: TensorInfo
) -> dict[str, Any]:
    """Strides, dilations and what stands before the image, of height and width."""
    strides = [options.StrideH(), options.StrideW()]
    dilations = [options.DilationHFactor(), options.DilationWFactor()]
    before = [0, 0]
    if options.Padding() == 0:  # SAME
        before = [
            window_padding(
                sizes[d], strides[d], dilations[d], source.shape[1 + d], result.shape[1 + d]
            )
            for d in range(2)
        ]
    return {"stride": strides, "dilation": dilations, "padding": before}


def _conv2d(building: Building, node: Node) -> None:
    network = building.network
    source, result = network.operand(node, 0), network.result(node)
    weight, bias, options = _weights(building, node), _bias(building, node, 2), node.options
    data: Array = np.asarray(weight.data)
    if source.shape[3] % data.shape[3] or data.shape[0] % (source.shape[3] // data.shape[3]):
        raise building.refusal(
            node,
            f"has {source.shape[3]} channels and filters of {data.shape[3]}",
            "the channels of a group divide those of the image.",
        )
    rows = data.reshape(len(data), -1)
    args = {
        "input": building.value(source),
        "weight": building.weight(node, "weight", data),
        **_window(options, data.shape[1:3], source, result),
        **ended(
            building, node, (source, weight, bias, result), rows, options.FusedActivationFunction()
        ),
    }
    building.add(node, "tflite.conv2d", args, result)


def _depthwise(building: Building, node: Node) -> None:
    network = building.network
    source, result = network.operand(node, 0), network.result(node)
    weight, bias, options = _weights(building, node), _bias(building, node, 2), node.options
    data: Array = np.asarray(weight.data)
    rows = data.reshape(-1, data.shape[3]).T
    args = {
        "input": building.value(source),
        "weight": building.weight(node, "weight", data),
        **_window(options, data.shape[1:3], source, result),
        **ended(
            building, node, (source, weight, bias, result), rows, options.FusedActivationFunction()
        ),
    }
    building.add(node, "tflite.depthwise_conv2d", args, result)


def _fully_connected(building: Building, node: Node) -> None:
    network = building.network
    source, result = network.operand(node, 0), network.result(node)
    weight, bias, options = _weights(building, node), _bias(building, node, 2), node.options
    if options.WeightsFormat():
        raise building.refusal(node, "has shuffled weights", "the default format is supported.")
    data: Array = np.asarray(weight.data)
    args = {
        "input": building.value(source),
        "weight": building.weight(node, "weight", data),
        **ended(
            building,
            node,
            (source, weight, bias, result),
            data,
            options.FusedActivationFunction(),
            single=True,
        ),
    }
    building.add(node, "tflite.fully_connected", args, result)


def _transposed(building: Building, node: Node) -> None:
    network, options = building.network, node.options
    source, result = network.operand(node, 2), network.result(node)
    weight, bias = _weights(building, node), _bias(building, node, 3)
    data: Array = np.asarray(weight.data)
    strides = [options.StrideH(), options.StrideW()]
    args = {
        "input": building.value(source),
        "weight": building.weight(node, "weight", data),
        "stride": strides,
        "padding": [
            window_padding(
                data.shape[1 + d], strides[d], 1, result.shape[1 + d], source.shape[1 + d]
            )
            for d in range(2)
        ],
        **ended(
            building,
            node,
            (source, weight, bias, result),
            data.reshape(len(data), -1),
            options.FusedActivationFunction(),
        ),
    }
    building.add(node, "tflite.transpose_conv", args, result)


CONVERSIONS: dict[str, Conversion] = {
    "CONV_2D": _conv2d,
    "DEPTHWISE_CONV_2D": _depthwise,
    "FULLY_CONNECTED": _fully_connected,
    "TRANSPOSE_CONV": _transposed,
}
