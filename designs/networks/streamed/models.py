"""The models of ``designs/networks`` as chains of processes, and their schedules with FIFOs between them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import allo
from allo import Partition
from allo.ir.types import float32

from ..chains import SEVEN_BALANCED, SEVEN_UNBALANCED, THREE_PRODUCTS, chains_of
from ..convolutions import RESIDUAL_BLOCK, SEPARABLE_BLOCK
from ..network import Network
from ..perceptrons import AUTOENCODER, FEED_FORWARD, RESIDUAL_MLP
from ..transformer import ATTENTION
from .images import by_channel, convolved, joined, pointed, split
from .layers import linear, mixed, product, residual, scores, softmax, spread


@dataclass(frozen=True, slots=True)
class Streamed:
    """A model as processes.

    Attributes:
        kernel: a call of a layer after the other.
        network: the same model as a plain kernel, with its inputs and its reference.
        fifos: arrays between layers, each with the function that reads it.
        lanes: of layers that add up rows: columns side by side, by the name of the function.
        called_alike: layers that are called several times with one size; each call gets its own function.
        images: whether the input and the result are images, with channels last here and first in the network.
    """

    kernel: Callable[..., Any]
    network: Network
    fifos: tuple[tuple[str, str], ...]
    lanes: Mapping[str, int] = field(default_factory=dict)
    images: bool = False
    called_alike: tuple[str, ...] = ()

    def inputs(self, rng: np.random.Generator) -> list[np.ndarray]:
        """Random arguments."""
        found = self.network.inputs(rng)
        if self.images:
            found[0] = np.ascontiguousarray(found[0].transpose(1, 2, 0))
        return found

    def reference(self, *arrays: np.ndarray) -> np.ndarray:
        """The result in NumPy."""
        if not self.images:
            return self.network.reference(*arrays)
        return self.network.reference(arrays[0].transpose(2, 0, 1), *arrays[1:]).transpose(1, 2, 0)


def autoencoder(
    X: float32[32, 784],
    W1: float32[784, 256], b1: float32[256], W2: float32[256, 128], b2: float32[128],
    W3: float32[128, 64], b3: float32[64], W4: float32[64, 128], b4: float32[128],
    W5: float32[128, 256], b5: float32[256], W6: float32[256, 784], b6: float32[784],
) -> float32[32, 784]:  # fmt: skip
    """784, 256, 128, 64, 128, 256 and 784 neurons, for a batch of 32."""
    H1 = linear[32, 784, 256, 1](X, W1, b1)
    H2 = linear[32, 256, 128, 1](H1, W2, b2)
    H3 = linear[32, 128, 64, 1](H2, W3, b3)
    H4 = linear[32, 64, 128, 1](H3, W4, b4)
    H5 = linear[32, 128, 256, 1](H4, W5, b5)
    return linear[32, 256, 784, 0](H5, W6, b6)


def residual_mlp(
    X: float32[8, 1024],
    W1: float32[1024, 512], b1: float32[512], W2: float32[512, 512], b2: float32[512],
    W3: float32[512, 256], b3: float32[256], W4: float32[256, 10], b4: float32[10],
) -> float32[8, 10]:  # fmt: skip
    """1024, 512, 512, 256 and 10 neurons, the second layer around a residual sum, for a batch of 8."""
    R = linear[8, 1024, 512, 0](X, W1, b1)
    H3 = residual[8, 512](R, W2, b2)
    H4 = linear[8, 512, 256, 0](H3, W3, b3)
    return linear[8, 256, 10, 0](H4, W4, b4)


def feed_forward(
    X: float32[512, 128],
    W1: float32[128, 256], b1: float32[256], W2: float32[256, 128], b2: float32[128],
) -> float32[512, 128]:  # fmt: skip
    """128 to 256 to 128 neurons, for 512 tokens."""
    H = linear[512, 128, 256, 1](X, W1, b1)
    return linear[512, 256, 128, 0](H, W2, b2)


def attention(
    X: float32[64, 128],
    Wq: float32[128, 128], bq: float32[128], Wk: float32[128, 128], bk: float32[128],
    Wv: float32[128, 128], bv: float32[128], Wo: float32[128, 128], bo: float32[128],
) -> float32[64, 128]:  # fmt: skip
    """Self-attention of 64 tokens of width 128, with 8 heads."""
    A: float32[64, 128]
    B: float32[64, 128]
    C: float32[64, 128]
    spread[64, 128](X, A, B, C)
    Q = linear[64, 128, 128, 0](A, Wq, bq)
    K = linear[64, 128, 128, 0](B, Wk, bk)
    V = linear[64, 128, 128, 0](C, Wv, bv)
    scale: float32 = 0.25
    S = scores[64, 8, 16](Q, K, scale)
    P = softmax[64, 8](S)
    Z = mixed[64, 8, 16](P, V)
    return linear[64, 128, 128, 0](Z, Wo, bo)


three_products, seven_balanced, seven_unbalanced = chains_of(product)


def residual_block(
    X: float32[56, 56, 16],
    F1: float32[16, 16, 3, 3], s1: float32[16], t1: float32[16],
    F2: float32[16, 16, 3, 3], s2: float32[16], t2: float32[16],
) -> float32[56, 56, 16]:  # fmt: skip
    """Two 3 × 3 convolutions of 16 channels, each with a batch norm, and the sum with the input."""
    A: float32[56, 56, 16]
    R: float32[56, 56, 16]
    split[56, 56, 16](X, A, R)
    B = convolved[56, 56, 16, 16](A, F1, s1, t1, 1)
    C = convolved[56, 56, 16, 16](B, F2, s2, t2, 0)
    return joined[56, 56, 16](C, R)


def separable_block(
    X: float32[112, 112, 8],
    F: float32[8, 3, 3], P: float32[8, 8], s: float32[8], t: float32[8],
) -> float32[112, 112, 8]:  # fmt: skip
    """A 3 × 3 convolution of each of 8 channels, then a 1 × 1 convolution, batch norm and ReLU."""
    A = by_channel[112, 112, 8](X, F)
    return pointed[112, 112, 8, 8](A, P, s, t)


def _chain(layer: str, *arrays: str) -> tuple[tuple[str, str], ...]:
    """Each array goes to the next call of the layer, of which the first has no number."""
    return tuple((array, f"{layer}_{place}") for place, array in enumerate(arrays, 1))


def _lanes(layer: str, *counts: int) -> dict[str, int]:
    return {f"{layer}_{place}" if place else layer: n for place, n in enumerate(counts)}


STREAMED = {
    "autoencoder": Streamed(
        autoencoder, AUTOENCODER, _chain("linear", "H1", "H2", "H3", "H4", "H5"),
        _lanes("linear", 32, 16, 8, 8, 16, 56),
    ),
    "residual_mlp": Streamed(
        residual_mlp, RESIDUAL_MLP, (("R", "residual"), ("H3", "linear_1"), ("H4", "linear_2")),
        _lanes("linear", 64, 32, 1) | {"residual": 64},
    ),
    "feed_forward": Streamed(
        feed_forward, FEED_FORWARD, _chain("linear", "H"), _lanes("linear", 32, 16)
    ),
    "attention": Streamed(
        attention, ATTENTION,
        (("A", "linear"), ("B", "linear_1"), ("C", "linear_2"), ("Q", "scores"), ("K", "scores"),
         ("V", "mixed"), ("S", "softmax"), ("P", "mixed"), ("Z", "linear_3")),
        _lanes("linear", 16, 16, 16, 16) | {"scores": 8, "mixed": 8}, called_alike=("linear",),
    ),
    "seven_balanced": Streamed(
        seven_balanced, SEVEN_BALANCED, _chain("product", "AB", "ABC", "ABCD", "AE", "AF", "AG"),
        _lanes("product", *[8] * 7), called_alike=("product",),
    ),
    "seven_unbalanced": Streamed(
        seven_unbalanced, SEVEN_UNBALANCED, _chain("product", "AB", "ABC", "ABCD", "AE", "AF", "AG"),
        _lanes("product", 8, 8, 16, 16, 8, 4, 2),
    ),
    "three_products": Streamed(
        three_products, THREE_PRODUCTS, (("E", "product_2"), ("F", "product_2")),
        _lanes("product", 19, 21, 21),
    ),
    "residual_block": Streamed(
        residual_block, RESIDUAL_BLOCK,
        (("A", "convolved"), ("R", "joined"), ("B", "convolved_1"), ("C", "joined")),
        images=True, called_alike=("convolved",),
    ),
    "separable_block": Streamed(
        separable_block, SEPARABLE_BLOCK, (("A", "pointed"),), images=True
    ),
}  # fmt: skip
"""The nine models, by their names."""


_INNERMOST = {
    "linear": ("j0", "k0", "j1"),
    "residual": ("j0", "k0", "j1"),
    "product": ("j0", "j1", "k1", "j2"),
    "scores": ("c0", "j1", "c1", "j2"),
    "mixed": ("c0", "c1", "k0", "c2"),
    "softmax": ("j", "j1", "j2"),
    "convolved": ("c0", "c1", "o2", "o3", "x"),
    "by_channel": ("c0", "c1", "c2", "c3", "x"),
    "pointed": ("c0", "o1", "o2", "x"),
    "spread": ("j0", "j"), "split": ("c",), "joined": ("c",),
}  # fmt: skip
"""Loops of each layer that are pipelined."""
_CHANNELS = {
    "convolved": (("total", 2), ("F", 1)),
    "by_channel": (("total", 2), ("F", 1), ("rows", 3)),
    "pointed": (("total", 2), ("F", 1)),
}
"""Arrays with a bank for each channel that is computed at once, and their dimensions of channels."""


_COLUMNS = {
    "linear": (("total", 1), ("W", 2)),
    "residual": (("total", 1), ("W", 2)),
    "product": (("total", 1), ("kept", 2)),
    "scores": (("total", 2), ("kept", 1)),
    "mixed": (("total", 1), ("kept", 2)),
}
"""Arrays with banks for columns that are added up at once, and their dimensions of columns."""


def scheduled(model: Streamed, depth: int) -> Any:
    """A schedule in which all layers run at once, with FIFOs of one depth between them.

    A build makes FIFOs deeper that would let the layers wait for each other for ever.
    """
    s = allo.customize(model.kernel)
    for layer in model.called_alike:
        s.specialize(layer)
    for function in list(s.func_args):
        layer = function.rsplit("_", 1)[0] if function[-1].isdigit() else function
        for loop in _INNERMOST.get(layer, ()):
            s.pipeline(f"{function}:{loop}")
        for array, dim in _CHANNELS.get(layer, ()):
            s.partition(f"{function}:{array}", dim=dim)
    for function, lanes in model.lanes.items():
        _side_by_side(s, function, lanes)
    for array, reader in model.fifos:
        s.to(getattr(s, array), reader, depth=depth)
    return s


def _side_by_side(s: Any, function: str, lanes: int) -> None:
    """Columns of a row that are added up at once."""
    s.split(f"{function}:j", lanes)
    s.pipeline(f"{function}:j.outer")
    s.unroll(f"{function}:j.inner")
    layer = function.rsplit("_", 1)[0] if function[-1].isdigit() else function
    for array, dim in _COLUMNS[layer]:
        s.partition(f"{function}:{array}", Partition.Cyclic, dim, lanes)
