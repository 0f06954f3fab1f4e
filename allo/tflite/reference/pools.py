"""Pools of windows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from allo.models.integers.arithmetic import Array

from ..fixedpoint import times
from ..network import Network, Node
from ..scales import clamped, mean_factor
from .family import Compute, before, windows


def _taken(network: Network, node: Node, image: Array, fill: float) -> Array:
    options, result = node.options, network.result(node)
    sizes = (options.FilterHeight(), options.FilterWidth())
    pads = before(options, sizes, network.operand(node, 0), result)
    return windows(image.astype(np.float64), sizes, options, pads, result.shape, fill)


def _limits(network: Network, node: Node, levels: Array) -> Array:
    return np.clip(levels, *clamped(network.result(node), node.options.FusedActivationFunction()))


def _mean(network: Network, node: Node, operands: Sequence[Any]) -> Array:
    taken = _taken(network, node, operands[0], np.nan)
    count = (~np.isnan(taken)).sum(0)
    sums = np.nansum(taken, 0).astype(np.int64)
    half = count // 2
    means = np.where(sums > 0, (sums + half) // count, -((half - sums) // count))
    return _limits(network, node, means)


def _greatest(network: Network, node: Node, operands: Sequence[Any]) -> Array:
    taken = _taken(network, node, operands[0], -np.inf)
    return _limits(network, node, taken.max(0))


def _mean_of(network: Network, node: Node, operands: Sequence[Any]) -> Array:
    source, result = network.operand(node, 0), network.result(node)
    axes = tuple({axis % len(source.shape) for axis in operands[1].reshape(-1).tolist()})
    sums = operands[0].astype(np.int64).sum(axes)
    count = operands[0].size // max(sums.size, 1)
    factor = mean_factor(source, result, count)
    return np.asarray(
        np.clip(times(sums - source.zero * count, *factor) + result.zero, *result.bounds)
    )


COMPUTE: dict[str, Compute] = {"AVERAGE_POOL_2D": _mean, "MAX_POOL_2D": _greatest, "MEAN": _mean_of}
