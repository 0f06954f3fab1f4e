"""Convolutional networks of signs in QONNX, of any sizes: CNV's shape among them, with random weights.

CNV (Umuroglu et al. 2017, FINN, section 6.1) has six convolutions of 3 × 3 without padding, a pool behind
each of the first two pairs, and three fully connected layers, on images of 32 × 32 × 3. Nothing here is
trained: a network of this module is for rates and resources, and for equality of results.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .graphs import Graph

CNV_CHANNELS, CNV_DENSE, CNV_IMAGE = ((64, 64), (128, 128), (256, 256)), (512, 512, 10), 32


class ConvolutionalGraph(Graph, ABC):
    """A graph of CNV's kind, whose layers are those of a class below.

    Attributes:
        rng: what weights come from.
    """

    def __init__(self, seed: int) -> None:
        super().__init__()
        self.rng = np.random.default_rng(seed)

    @abstractmethod
    def weights(self, name: str, shape: Sequence[int]) -> str:
        """Random weights."""

    @abstractmethod
    def activated(self, name: str, source: str, channels: int, terms: int) -> str:
        """A random norm of each channel, and the levels of what it gives."""

    def convolution(self, name: str, source: str, ins: int, outs: int) -> str:
        """A convolution of 3 × 3 without padding, with a norm and levels behind it."""
        weights = self.weights(f"{name}_weights", (outs, ins, 3, 3))
        sums = self.node("Conv", name, source, weights, kernel_shape=[3, 3])
        return self.activated(f"{name}_levels", sums, outs, 9 * ins)

    def sums(self, name: str, source: str, ins: int, outs: int) -> str:
        """The sums of a fully connected layer."""
        return self.node("MatMul", name, source, self.weights(f"{name}_weights", (ins, outs)))

    def scores(self, name: str, source: str, ins: int, outs: int) -> str:
        """The last layer, whose sums are the result, in 64ths."""
        sums = self.sums(name, source, ins, outs)
        return self.node("Mul", "scores", sums, self.constant(1 / 64))

    def network(
        self, title: str, channels: Sequence[Sequence[int]], dense: Sequence[int], image: int
    ) -> Any:
        """A network of CNV's kind as an ``onnx.ModelProto``.

        Args:
            title: of the graph.
            channels: of the convolutions between two pools.
            dense: of the fully connected layers; the last one's sums are the result, in 64ths.
            image: height and width; the input has three channels.
        """
        value, ins, size = "image", 3, image
        for group, outs in enumerate(channels):
            for number, out in enumerate(outs):
                value = self.convolution(f"conv_{group}_{number}", value, ins, out)
                ins, size = out, size - 2
            if group < len(channels) - 1:
                sizes = {"kernel_shape": [2, 2], "strides": [2, 2]}
                value, size = self.node("MaxPool", f"pool_{group}", value, **sizes), size // 2
        value, ins = self.node("Flatten", "flat", value, axis=1), ins * size * size
        *inner, last = ((f"dense_{number}", out) for number, out in enumerate(dense))
        for name, out in inner:
            sums = self.sums(name, value, ins, out)
            value, ins = self.activated(f"{name}_levels", sums, out, ins), out
        value = self.scores(last[0], value, ins, last[1])
        return self.model(title, "image", (1, 3, image, image), value, last[1])


class _Signs(ConvolutionalGraph):
    """A graph of random signs."""

    def weights(self, name: str, shape: Sequence[int]) -> str:
        """Random weights of -1 and 1."""
        values: NDArray[np.float64] = np.where(self.rng.random(shape) < 0.5, -1.0, 1.0)
        return self.node("BipolarQuant", name, self.constant(values), self.constant(1.0))

    def activated(self, name: str, source: str, channels: int, terms: int) -> str:
        """A random batch norm, and the signs of what it gives."""
        rng = self.rng
        parts = (
            rng.uniform(0.5, 2, channels) * np.sign(rng.normal(size=channels) + 1.2),
            rng.normal(size=channels),
            rng.normal(size=channels) * np.sqrt(terms) / 2,
            rng.uniform(0.5, 2, channels) * terms,
        )
        names = [self.constant(part) for part in parts]
        normal = self.node("BatchNormalization", f"{name}_norm", source, *names, epsilon=1e-5)
        return self.node("BipolarQuant", name, normal, self.constant(1.0))


def network_of_signs(
    channels: Sequence[Sequence[int]] = CNV_CHANNELS,
    dense: Sequence[int] = CNV_DENSE,
    image: int = CNV_IMAGE,
    seed: int = 0,
) -> Any:
    """A network as an ``onnx.ModelProto`` of QONNX; by default of CNV's shape.

    Its input is read as int8 in units of 1 / 128: ``from_qonnx(model, input_type=(int8, 1 / 128))``.

    Args:
        channels: of the convolutions between two pools.
        dense: of the fully connected layers; the last one's sums are the result, in 64ths.
        image: height and width; the input has three channels.
        seed: of the weights.
    """
    return _Signs(seed).network("network_of_signs", channels, dense, image)
