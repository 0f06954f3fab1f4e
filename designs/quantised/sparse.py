"""Perceptrons whose neurons read few inputs of few bits, so that each is a lookup table; trained in NumPy.

The form is that of LogicNets (Umuroglu, Akhauri, Fraser and Blott, FPL 2020): sparse layers with a quantiser
behind each. Results are sums of groups of the last layer's neurons, as in TreeLUT (Khataei and Bazargan,
FPGA 2025), whose groups are trees. Inputs of a neuron are found while it is trained: the weights that
matter least are taken away step by step (Zhu and Gupta 2017). Gradients pass the rounding as if it were not
there (Bengio, Léonard and Courville 2013, section 5); steps are Adam's (Kingma and Ba 2015).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
WEIGHT_UNIT = 1 / 32
MOST_WEIGHT = 127
"""Weights and biases are multiples of the unit; weights have 8 bits."""


@dataclass(frozen=True, slots=True)
class Shape:
    """A layer.

    Attributes:
        outputs: its neurons.
        reads: inputs of each.
        bits, signed, unit: of what they give.
    """

    outputs: int
    reads: int
    bits: int = 2
    signed: bool = False
    unit: float = 0.5

    @property
    def ends(self) -> tuple[int, int]:
        """The least and the greatest level."""
        half = 1 << (self.bits - 1)
        return (-half, half - 1) if self.signed else (0, 2 * half - 1)


class Sparse:
    """Layers of sparse neurons, and sums of equal groups of the last ones.

    Attributes:
        weights, biases: of each layer as trained, ``[inputs, outputs]`` and ``[outputs]``.
        kept: 1 where a neuron reads an input, else 0.
    """

    def __init__(self, inputs: int, shapes: Sequence[Shape], groups: int, seed: int = 0) -> None:
        rng = np.random.default_rng(seed)
        self.inputs, self.shapes, self.groups = inputs, tuple(shapes), groups
        sizes = [inputs, *(shape.outputs for shape in shapes)]
        self.weights: list[Floats] = []
        self.biases: list[Floats] = []
        for before, shape in zip(sizes, shapes, strict=False):
            spread = 1 / np.sqrt(max(1, min(8, shape.reads)))
            made = rng.normal(0, spread, (before, shape.outputs))
            self.weights.append(made.astype(np.float32))
            self.biases.append(rng.normal(0, 0.5, shape.outputs).astype(np.float32))
        self.kept = [np.ones_like(weight) for weight in self.weights]

    def quantised(self, layer: int) -> tuple[Floats, Floats]:
        """Weights and biases of a layer as tables are computed from them."""
        levels = np.clip(np.round(self.weights[layer] / WEIGHT_UNIT), -MOST_WEIGHT, MOST_WEIGHT)
        bias = np.round(self.biases[layer] / WEIGHT_UNIT) * WEIGHT_UNIT
        weight = levels * self.kept[layer] * WEIGHT_UNIT
        return weight.astype(np.float32), bias.astype(np.float32)

    def forward(self, x: Floats) -> tuple[list[Floats], list[Floats], Floats]:
        """The sums of each layer, what each reads, and the results."""
        sums: list[Floats] = []
        read = [x]
        for layer, shape in enumerate(self.shapes):
            weight, bias = self.quantised(layer)
            total = read[-1] @ weight + bias
            levels = np.clip(np.round(total / np.float32(shape.unit)), *shape.ends)
            sums.append(total)
            read.append((levels * np.float32(shape.unit)).astype(np.float32))
        return sums, read[:-1], read[-1].reshape(len(x), self.groups, -1).sum(2)

    def classes(self, x: Floats) -> NDArray[np.int64]:
        """The greatest result of each sample."""
        return np.asarray(self.forward(x)[2].argmax(1))

    def gradients(self, x: Floats, labels: NDArray[np.int64], sharpness: float) -> list[Floats]:
        """Of the mean cross entropy: of all weights, then of all biases."""
        sums, read, results = self.forward(x)
        shifted = np.exp((results - results.max(1, keepdims=True)) * sharpness)
        slope = shifted / shifted.sum(1, keepdims=True)
        slope[np.arange(len(labels)), labels] -= 1
        slope = np.repeat(slope * (sharpness / len(labels)), len(self.biases[-1]) // self.groups, 1)
        of_weights: list[Floats] = []
        of_biases: list[Floats] = []
        for layer in reversed(range(len(self.shapes))):
            shape = self.shapes[layer]
            low, high = (
                (end + half) * shape.unit for end, half in zip(shape.ends, (-0.5, 0.5), strict=True)
            )
            slope = (slope * ((sums[layer] > low) & (sums[layer] < high))).astype(np.float32)
            of_weights.append(np.asarray(read[layer].T @ slope * self.kept[layer], np.float32))
            of_biases.append(np.asarray(slope.sum(0), np.float32))
            if layer:
                slope = slope @ self.quantised(layer)[0].T
        return [*of_weights[::-1], *of_biases[::-1]]

    def prune(self, x: Floats, part: float) -> None:
        """Take away the weights that matter least on samples.

        Args:
            part: of the way to what a layer's shape says, 0 to 1; cubic, so that the first steps are long.
        """
        _, read, _ = self.forward(x)
        for layer, shape in enumerate(self.shapes):
            weight = self.weights[layer]
            count = round(shape.reads + (len(weight) - shape.reads) * (1 - part) ** 3)
            spread = read[layer].std(0)[:, None] + 1e-3
            order = np.argsort(-np.abs(weight) * self.kept[layer] * spread, axis=0, kind="stable")
            found = np.zeros_like(weight)
            np.put_along_axis(found, order[:count], 1, 0)
            self.kept[layer] = found


def train(
    net: Sparse,
    x: Floats,
    labels: NDArray[np.int64],
    passes: int,
    *,
    batch: int = 1000,
    rate: float = 3e-3,
    sharpness: float = 0.25,
    seed: int = 0,
) -> Iterator[int]:
    """Train in place; each pass over all samples is yielded. Half of them take weights away."""
    rng = np.random.default_rng(seed)
    values = [*net.weights, *net.biases]
    means, squares = ([np.zeros_like(v) for v in values] for _ in range(2))
    step = 0
    for turn in range(passes):
        net.prune(x[:4000], min(1.0, turn / (0.5 * passes)))
        pace = rate * min(1.0, (passes - turn) / (0.4 * passes))
        order = rng.permutation(len(x))
        for start in range(0, len(order), batch):
            chosen = order[start : start + batch]
            step += 1
            found = net.gradients(x[chosen], labels[chosen], sharpness)
            for value, slope, mean, square in zip(values, found, means, squares, strict=True):
                mean += np.float32(0.1) * (slope - mean)
                square += np.float32(0.001) * (slope * slope - square)
                ahead = mean / np.float32(1 - 0.9**step)
                wide = np.sqrt(square / np.float32(1 - 0.999**step)) + np.float32(1e-8)
                value -= np.float32(pace) * ahead / wide
        yield turn


def stored(net: Sparse) -> dict[str, NDArray[np.int16]]:
    """The network as small arrays: of each layer, what a neuron reads, its weights and its bias."""
    found: dict[str, NDArray[np.int16]] = {}
    for layer, shape in enumerate(net.shapes):
        weight, bias = net.quantised(layer)
        places = np.argsort(-net.kept[layer], axis=0, kind="stable")[: shape.reads].T
        levels = np.take_along_axis(weight.T, places, 1) / WEIGHT_UNIT
        for name, array in (("reads", places), ("weights", levels), ("bias", bias / WEIGHT_UNIT)):
            found[f"{name}_{layer}"] = np.round(array).astype(np.int16)
    return found


def restored(arrays: Any, inputs: int, shapes: Sequence[Shape], groups: int) -> Sparse:
    """A network from what :func:`stored` made of it."""
    net = Sparse(inputs, shapes, groups)
    for layer in range(len(shapes)):
        places = arrays[f"reads_{layer}"].astype(np.int64)
        kept = np.zeros_like(net.kept[layer]).T
        np.put_along_axis(kept, places, 1, 1)
        weight = np.zeros_like(kept)
        levels = arrays[f"weights_{layer}"].astype(np.float32) * np.float32(WEIGHT_UNIT)
        np.put_along_axis(weight, places, levels, 1)
        net.kept[layer], net.weights[layer] = kept.T.copy(), weight.T.copy()
        net.biases[layer] = arrays[f"bias_{layer}"].astype(np.float32) * np.float32(WEIGHT_UNIT)
    return net
