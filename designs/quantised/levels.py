"""Convolutional networks of a few bits in QONNX, with random weights: CNV's shape, and a residual block.

Weights and activations have so many bits each (W2A2, W4A4); scales are powers of two, so that qonnx's
executor computes every level exactly. Nothing here is trained: a network of this module is for rates and
resources, and for equality of results.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .convolutions import CNV_CHANNELS, CNV_DENSE, CNV_IMAGE, ConvolutionalGraph


class _Levels(ConvolutionalGraph):
    """A graph of random levels.

    Attributes:
        weight_bits, bits: of weights and of activations.
    """

    def __init__(self, weight_bits: int, bits: int, seed: int) -> None:
        super().__init__(seed)
        self.weight_bits, self.bits = weight_bits, bits

    def weights(self, name: str, shape: Sequence[int]) -> str:
        """Random weights: signs where they have one bit, else as many negative as positive ones."""
        values = self.rng.normal(size=shape)
        if self.weight_bits == 1:
            return self.node("BipolarQuant", name, self.constant(values), self.constant(1.0))
        most = (1 << (self.weight_bits - 1)) - 1
        made = self.constant(values * max(most / 2, 0.75))
        return self.quant(name, made, 1.0, self.weight_bits, signed=True, narrow=True)

    def activated(
        self, name: str, source: str, channels: int, terms: int, reach: float | None = None
    ) -> str:
        """A random norm of each channel, a ReLU, and its levels; ``reach`` is that of what is summed."""
        rng, most = self.rng, (1 << self.bits) - 1
        of_weights = max((1 << (self.weight_bits - 1)) - 1, 1)
        spread = np.sqrt(terms) * of_weights * (most if reach is None else reach) / 4
        parts = (
            rng.uniform(0.5, 2, channels) * most / 4,
            rng.uniform(0, most / 2, channels),
            rng.normal(size=channels) * spread / 4,
            np.full(channels, spread**2),
        )
        names = [self.constant(part) for part in parts]
        normal = self.node("BatchNormalization", f"{name}_norm", source, *names, epsilon=1e-5)
        positive = self.node("Relu", f"{name}_relu", normal)
        return self.quant(name, positive, 1.0, self.bits, signed=False, narrow=False)

    def convolution(self, name: str, source: str, ins: int, outs: int, **options: Any) -> str:
        """A convolution with a norm and levels behind it."""
        size, group = options.pop("size", 3), options.pop("group", 1)
        reach = 1.0 if source == "image" else None
        weights = self.weights(f"{name}_weights", (outs, ins // group, size, size))
        shape = {"kernel_shape": [size, size], "group": group, **options}
        sums = self.node("Conv", name, source, weights, **shape)
        return self.activated(f"{name}_levels", sums, outs, size * size * ins // group, reach)


def network_of_levels(
    weight_bits: int,
    bits: int,
    channels: Sequence[Sequence[int]] = CNV_CHANNELS,
    dense: Sequence[int] = CNV_DENSE,
    image: int = CNV_IMAGE,
    seed: int = 0,
) -> Any:
    """A network as an ``onnx.ModelProto`` of QONNX; by default of CNV's shape.

    Its input is read as int8 in units of 1 / 128: ``from_qonnx(model, input_type=(int8, 1 / 128))``.

    Args:
        weight_bits, bits: of weights and of activations.
        channels: of the convolutions between two pools.
        dense: of the fully connected layers.
        image: height and width; the input has three channels.
        seed: of the weights.
    """
    graph = _Levels(weight_bits, bits, seed)
    return graph.network("network_of_levels", channels, dense, image)


def residual_network(
    weight_bits: int, bits: int, channels: int = 8, image: int = 8, outs: int = 4, seed: int = 0
) -> Any:
    """A network with a residual block, a depthwise and a strided convolution, and a mean of each channel.

    Args:
        weight_bits, bits: of weights and of activations.
        channels: of the block.
        image: height and width; the input has three channels.
        outs: of the result.
        seed: of the weights.
    """
    graph, same = _Levels(weight_bits, bits, seed), {"pads": [1, 1, 1, 1]}
    first = graph.convolution("first", "image", 3, channels, **same)
    inner = graph.convolution("inner", first, channels, channels, **same)
    second = graph.convolution("second", inner, channels, channels, **same)
    both = graph.node("Add", "both", first, second)
    joined = graph.quant("joined", both, 2.0, bits, signed=False, narrow=False)
    each = graph.convolution("each", joined, channels, channels, group=channels, **same)
    strided = {"size": 1, "strides": [2, 2]}
    less = graph.convolution("less", each, channels, 2 * channels, **strided)
    mean = graph.node("GlobalAveragePool", "mean", less)
    levels = graph.quant("mean_levels", mean, 0.25, bits + 1, signed=False, narrow=False)
    flat = graph.node("Flatten", "flat", levels, axis=1)
    value = graph.scores("last", flat, 2 * channels, outs)
    return graph.model("residual_network", "image", (1, 3, image, image), value, outs)
