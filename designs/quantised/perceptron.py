"""A perceptron with weights and activations of a few bits, trained in NumPy.

Forward passes use the quantised weights and activations; gradients pass the rounding as if it were not
there (the straight-through estimator: Bengio, Léonard and Courville 2013, section 5).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .graphs import Graph

Floats = NDArray[np.float64]
_PASSES, _BATCH, _RATE, _MOMENTUM = 12, 50, 0.1, 0.9


@dataclass(slots=True)
class Perceptron:
    """Layers of products, each but the last with a rectifier and a quantiser behind it.

    Attributes:
        weights: ``[inputs, outputs]`` of each layer, as trained.
        bits: of weights, and of activations, which have no sign.
        weight_unit, activation_unit: what one level is worth, a power of two.
    """

    weights: list[Floats]
    bits: int
    weight_unit: float
    activation_unit: float

    def quantised(self, layer: int) -> Floats:
        """The weights of a layer as hardware has them."""
        most = (1 << (self.bits - 1)) - 1
        levels = np.clip(np.round(self.weights[layer] / self.weight_unit), -most, most)
        return np.asarray(levels * self.weight_unit)

    def activated(self, sums: Floats) -> Floats:
        """What a layer's sums become."""
        most = (1 << self.bits) - 1
        levels = np.clip(np.round(sums / self.activation_unit), 0, most)
        return np.asarray(levels * self.activation_unit)

    def scores(self, images: NDArray[np.float32]) -> Floats:
        """The sums of the last layer."""
        return self._forward(np.asarray(images, np.float64))[0][-1]

    def _forward(self, images: Floats) -> tuple[list[Floats], list[Floats]]:
        """The sums of each layer, and what each of them reads."""
        sums: list[Floats] = []
        read = [images]
        for layer in range(len(self.weights)):
            sums.append(read[-1] @ self.quantised(layer))
            read.append(self.activated(sums[-1]))
        return sums, read[:-1]

    def gradients(self, images: Floats, labels: NDArray[np.int64]) -> list[Floats]:
        """Of the mean cross entropy, by layer."""
        sums, read = self._forward(images)
        shifted = np.exp(sums[-1] - sums[-1].max(1, keepdims=True))
        slope = shifted / shifted.sum(1, keepdims=True)
        slope[np.arange(len(labels)), labels] -= 1
        slope /= len(labels)
        found: list[Floats] = []
        most = ((1 << self.bits) - 1) * self.activation_unit
        for layer in reversed(range(len(self.weights))):
            found.append(read[layer].T @ slope)
            if layer:
                below = sums[layer - 1]
                slope = (slope @ self.quantised(layer).T) * ((below > 0) & (below < most))
        return found[::-1]


def trained(
    images: NDArray[np.float32],
    labels: NDArray[np.int64],
    hidden: Sequence[int],
    bits: int = 4,
    seed: int = 0,
) -> Perceptron:
    """A perceptron trained on images ``[count, pixels]`` and their classes."""
    rng = np.random.default_rng(seed)
    sizes = [images.shape[1], *hidden, int(labels.max()) + 1]
    pairs = zip(sizes, sizes[1:], strict=False)
    weights = [rng.normal(0, np.sqrt(2 / a), (a, b)) for a, b in pairs]
    net = Perceptron(weights, bits, 2.0 ** -(bits - 1), 2.0 ** -(bits - 2))
    speeds = [np.zeros_like(w) for w in weights]
    for turn in range(_PASSES):
        rate = _RATE * (1 - turn / _PASSES)
        order = rng.permutation(len(images))
        for start in range(0, len(order), _BATCH):
            batch = order[start : start + _BATCH]
            found = net.gradients(np.asarray(images[batch], np.float64), labels[batch])
            for weight, speed, slope in zip(net.weights, speeds, found, strict=True):
                speed *= _MOMENTUM
                speed -= rate * slope
                weight += speed
    return net


def exported(net: Perceptron) -> Any:
    """The network as an ``onnx.ModelProto`` of QONNX: quantisers, products and rectifiers.

    The input is quantised to sixteenths. Sums have no bias.
    """
    graph = Graph()
    value = graph.quant("pixels", "image", 1 / 16, 4, signed=False, narrow=False)
    for layer, weight in enumerate(net.weights):
        levels = graph.quant(
            f"weights_{layer}",
            graph.constant(weight),
            net.weight_unit,
            net.bits,
            signed=True,
            narrow=True,
        )
        value = graph.node("MatMul", f"product_{layer}", value, levels)
        if layer < len(net.weights) - 1:
            value = graph.node("Relu", f"rectified_{layer}", value)
            value = graph.quant(
                f"layer_{layer}", value, net.activation_unit, net.bits, signed=False, narrow=False
            )
    pixels, classes = len(net.weights[0]), net.weights[-1].shape[1]
    return graph.model("perceptron", "image", (1, pixels), value, classes)
