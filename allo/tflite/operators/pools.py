"""Pools: maxima and means of windows, and means of whole dimensions."""

from __future__ import annotations

from math import prod
from typing import Any

from ..building import Building
from ..network import Node
from ..scales import clamped, mean_factor
from .family import Conversion, window_padding
from .shapes import constant


def _pool(building: Building, node: Node) -> None:
    network, options = building.network, node.options
    source, result = network.operand(node, 0), network.result(node)
    building.check_integers(node, source, result)
    sizes = [options.FilterHeight(), options.FilterWidth()]
    strides = [options.StrideH(), options.StrideW()]
    before = [0, 0]
    if options.Padding() == 0:  # SAME
        before = [
            window_padding(sizes[d], strides[d], 1, source.shape[1 + d], result.shape[1 + d])
            for d in range(2)
        ]
    low, high = clamped(result, options.FusedActivationFunction())
    args: dict[str, Any] = {
        "self": building.value(source),
        "kernel_size": sizes,
        "stride": strides,
        "padding": before,
        "low": low,
        "high": high,
    }
    building.add(node, f"tflite.{node.word}", args, result)


def _mean(building: Building, node: Node) -> None:
    network = building.network
    source, result = network.operand(node, 0), network.result(node)
    building.check_integers(node, source, result)
    axes = sorted({axis % len(source.shape) for axis in constant(building, node, 1)})
    count = prod(source.shape[d] for d in axes)
    low, high = result.bounds
    args: dict[str, Any] = {
        "self": building.value(source),
        "dim": axes,
        "bits": (count * max(abs(b - source.zero) for b in source.bounds)).bit_length() + 1,
        "zero_input": source.zero,
        "zero": result.zero,
        "low": low,
        "high": high,
        **building.ending(node, "factor", [mean_factor(source, result, count)]),
    }
    building.add(node, "tflite.mean", args, result)


CONVERSIONS: dict[str, Conversion] = {"AVERAGE_POOL_2D": _pool, "MAX_POOL_2D": _pool, "MEAN": _mean}
