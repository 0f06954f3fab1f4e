"""How the devices' memories are filled: each has its share of every kind of weight."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..checkpoints.quantize import QuantizedModel
from ..config import Architecture
from ..ternary.words import ternary_words
from ..wide.memories import Memories, by_channels, make_memories, padded, together, words_of
from ..wide.parameters import Wide
from .parameters import Devices, Share, share_of

SHARED = dict.fromkeys(("q", "k", "v", "f1"), 0) | {"p": 1, "f2": 1}
"""Of each linear layer, what is shared out: its outputs, 0, or its inputs, 1."""


@dataclass(slots=True)
class DeviceMemories(Memories):
    """The arrays of the region after ``tokens`` and ``start``, in its order.

    Attributes:
        logits: words of every part of the vocabulary; :func:`logits_of` joins them.
        chosen: int32 (steps), the token that the logits of each step prefer.
    """

    chosen: np.ndarray

    def arguments(self) -> tuple[np.ndarray, ...]:
        """The arrays as the region takes them."""
        return (*Memories.arguments(self), self.chosen)


def _share(
    weights: QuantizedModel, share: Share, stage: int, part: int, parts: int
) -> QuantizedModel:
    """What a device has of the layers, as a model; all shares have the factors of what they add up."""
    m, arrays = weights.config, dict(weights.arrays)
    for at in range(share.layers):
        old = f"{stage * share.layers + at}."
        for name in (name for name in weights.arrays if name.startswith(old)):
            layer, _, kind = name.removeprefix(old).partition(".")
            axis, array = SHARED.get(layer), weights.arrays[name]
            if axis == 0 or (axis == 1 and kind == "w"):
                array = np.split(array, parts, axis)[part]
            arrays[f"{at}.{name.removeprefix(old)}"] = array
    model = Architecture(
        m.family, share.layers, m.d, share.heads, share.heads, m.head_dim, share.ffn, m.context, m.vocab,
        m.activation, m.eps, has_head=False,
    )  # fmt: skip
    return QuantizedModel(model, arrays)


def _head(weights: QuantizedModel, share: Share, part: int, suffix: str) -> np.ndarray:
    """One part of the vocabulary; what lies behind its end is zero."""
    whole = weights.arrays["head" + suffix]
    return padded(whole[part * share.outputs : (part + 1) * share.outputs], share.outputs)


def deal(weights: QuantizedModel, wide: Wide, devices: Devices) -> DeviceMemories:
    """Memories of all devices with the weights in place, and empty caches.

    Raises:
        DeviceError, WidthError: the model cannot be shared so.
    """
    share, v, p1 = share_of(weights.config, wide, devices), wide.vector, devices.tensor
    rows, parts = weights.config.d // v, range(p1)
    shares = [
        make_memories(_share(weights, share, stage, part, p1), wide)
        for stage in range(devices.pipeline)
        for part in parts
    ]
    words, affine, gains, token, position, *factors = (
        np.stack(arrays) for arrays in zip(*(one.constant for one in shares), strict=True)
    )
    heads = [by_channels(_head(weights, share, part, ".w"), wide.channels) for part in parts]
    head_affine = [
        together([_head(weights, share, part, suffix) for suffix in (".s", ".b")]) for part in parts
    ]
    if wide.trits:
        behind = np.stack([ternary_words(head, wide.trits) for head in heads])
    else:
        behind = words_of(np.stack(heads), 8 * wide.lanes)
    constant = (
        words,
        behind,
        affine,
        words_of(np.stack(head_affine), 64 * v),
        gains[:, :-rows],
        gains[:p1, -rows:],
        token[:p1],
        position[:p1],
        *factors,
    )
    keys, values = (
        np.repeat(np.stack(caches)[:, :, None], devices.sequences, axis=2)
        for caches in ([one.keys for one in shares], [one.values for one in shares])
    )
    logits = words_of(np.zeros((p1, devices.steps * share.outputs), np.float32), 32 * v)
    constant = tuple(np.ascontiguousarray(array) for array in constant)
    return DeviceMemories(constant, keys, values, logits, np.zeros(devices.steps, np.int32))


def logits_of(memories: DeviceMemories, vocab: int, steps: int) -> np.ndarray:
    """The logits of every step, float32 (steps, vocab), all parts of the vocabulary joined."""
    parts = len(memories.logits)
    split = memories.logits.view(np.uint8).reshape(parts, -1).view(np.float32)
    joined = split.reshape(parts, steps, -1).transpose(1, 0, 2).reshape(steps, -1)
    return joined[:, :vocab].copy()
