"""Convolutional networks of signs in QONNX, of any sizes: CNV's shape among them, with random weights.

CNV (Umuroglu et al. 2017, FINN, section 6.1) has six convolutions of 3 × 3 without padding, a pool behind
each of the first two pairs, and three fully connected layers, on images of 32 × 32 × 3. Nothing here is
trained: a network of this module is for rates and resources, and for equality of results.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .graphs import Graph

CNV_CHANNELS, CNV_DENSE, CNV_IMAGE = ((64, 64), (128, 128), (256, 256)), (512, 512, 10), 32


class _Signs(Graph):
    """A graph of random signs.

    Attributes:
        rng: what they come from.
    """

    def __init__(self, seed: int) -> None:
        super().__init__()
        self.rng = np.random.default_rng(seed)

    def signs(self, name: str, shape: Sequence[int]) -> str:
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
    graph, value, ins, size = _Signs(seed), "image", 3, image
    for group, outs in enumerate(channels):
        for number, out in enumerate(outs):
            name = f"conv_{group}_{number}"
            weights = graph.signs(f"{name}_weights", (out, ins, 3, 3))
            sums = graph.node("Conv", name, value, weights, kernel_shape=[3, 3])
            value, size = graph.activated(f"{name}_signs", sums, out, 9 * ins), size - 2
            ins = out
        if group < len(channels) - 1:
            sizes = {"kernel_shape": [2, 2], "strides": [2, 2]}
            value, size = graph.node("MaxPool", f"pool_{group}", value, **sizes), size // 2
    value, ins = graph.node("Flatten", "flat", value, axis=1), ins * size * size
    for number, out in enumerate(dense):
        name = f"dense_{number}"
        value = graph.node("MatMul", name, value, graph.signs(f"{name}_weights", (ins, out)))
        if number < len(dense) - 1:
            value = graph.activated(f"{name}_signs", value, out, ins)
        ins = out
    value = graph.node("Mul", "scores", value, graph.constant(1 / 64))
    return graph.model("network_of_signs", "image", (1, 3, image, image), value, dense[-1])
