"""How the devices' memories are filled: each has its share of every kind of weight."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..checkpoints.quantize import QuantizedModel
from ..wide.memories import by_channels, padded, together, words_of
from ..wide.parameters import Wide
from .parameters import Devices, Share, share_of

ROWS_SHARED = ("q", "k", "v", "f1")
"""Linear layers whose outputs are shared out; of the others, ``p`` and ``f2``, the inputs are."""
JOBS = (("q", "k", "v"), ("p",), ("f1",), ("f2",))


@dataclass(slots=True)
class DeviceMemories:
    """The arrays of the region after ``tokens`` and ``start``, in its order.

    Attributes:
        logits: words of every part of the vocabulary; :func:`logits_of` joins them.
        chosen: int32 (steps), the token that the logits of each step prefer.
    """

    constant: tuple[np.ndarray, ...]
    keys: np.ndarray
    values: np.ndarray
    logits: np.ndarray
    chosen: np.ndarray

    def arguments(self) -> tuple[np.ndarray, ...]:
        """The arrays as the region takes them."""
        return (*self.constant, self.keys, self.values, self.logits, self.chosen)


def share_rows(array: np.ndarray, part: int, parts: int) -> np.ndarray:
    """One of equal parts of the outputs: rows of weights, or factors and biases."""
    size = len(array) // parts
    return array[part * size : (part + 1) * size]


def share_columns(array: np.ndarray, part: int, parts: int) -> np.ndarray:
    """One of equal parts of the inputs: columns of weights."""
    size = array.shape[1] // parts
    return array[:, part * size : (part + 1) * size]


def _part(name: str, suffix: str, array: np.ndarray, part: int, parts: int) -> np.ndarray:
    """A device's share of an array of a linear layer; all have the factors of what they add up."""
    if name in ROWS_SHARED:
        return share_rows(array, part, parts)
    return share_columns(array, part, parts) if suffix == ".w" else array


def _head(weights: QuantizedModel, share: Share, part: int, suffix: str) -> np.ndarray:
    """One part of the vocabulary; what lies behind its end is zero."""
    whole = weights.arrays["head" + suffix]
    return padded(whole[part * share.outputs : (part + 1) * share.outputs], share.outputs)


def deal(weights: QuantizedModel, wide: Wide, devices: Devices) -> DeviceMemories:
    """Memories of all devices with the weights in place, and empty caches.

    Raises:
        DeviceError, WidthError: the model cannot be shared so.
    """
    config, arrays, v = weights.config, weights.arrays, wide.vector
    share = share_of(config, wide, devices)
    p1 = devices.tensor
    weight_bytes, affine, gains = [], [], []
    factors: dict[str, list[list[float]]] = {"softmax": [], "attend": [], "gelu": []}
    for stage in range(devices.pipeline):
        layers = range(stage * share.layers, (stage + 1) * share.layers)
        for part in range(p1):

            def jobs(suffix: str, layers: range = layers, part: int = part) -> list[np.ndarray]:
                return [
                    np.concatenate(
                        [_part(n, suffix, arrays[f"{at}.{n}{suffix}"], part, p1) for n in job]
                    )
                    for at in layers
                    for job in JOBS
                ]

            rows = [by_channels(job, wide.channels) for job in jobs(".w")]
            weight_bytes.append(np.concatenate(rows, axis=1))
            affine.append(together([np.concatenate(jobs(".s")), np.concatenate(jobs(".b"))]))
            norms = [f"{at}.{n}" for at in layers for n in ("norm1", "norm2")]
            ends = (".g", ".b")
            gains.append(together([np.stack([arrays[n + end] for n in norms]) for end in ends]))
            for name, each in factors.items():
                each.append([float(arrays[f"{at}.{name}"][0]) for at in layers])
    heads = [_head(weights, share, part, ".w") for part in range(p1)]
    head_affine = [
        together([_head(weights, share, part, suffix) for suffix in (".s", ".b")])
        for part in range(p1)
    ]
    softmax, attend, gelu = (np.array(factors[name], np.float32) for name in factors)
    constant = (
        words_of(np.stack(weight_bytes), 8 * wide.lanes),
        words_of(np.stack([by_channels(head, wide.channels) for head in heads]), 8 * wide.lanes),
        words_of(np.stack(affine), 64 * v),
        words_of(np.stack(head_affine), 64 * v),
        words_of(np.stack(gains), 64 * v),
        words_of(np.stack([together([arrays["norm.g"], arrays["norm.b"]])] * p1), 64 * v),
        words_of(np.stack([arrays["token"].reshape(-1)] * p1), 32 * v),
        words_of(np.stack([arrays["position"].reshape(-1)] * p1), 32 * v),
        np.tile(softmax[:, None], (1, wide.heads, 1)),
        attend,
        gelu,
    )
    count, per_unit = p1 * devices.pipeline, share.heads // wide.heads
    shape = count, wide.heads, devices.sequences, share.layers * per_unit * config.context
    keys, values = (
        words_of(np.zeros((*shape, config.head_dim), np.int8), 8 * config.head_dim)[..., 0]
        for _ in "kv"
    )
    logits = words_of(np.zeros((p1, devices.steps * share.outputs), np.float32), 32 * v)
    return DeviceMemories(constant, keys, values, logits, np.zeros(devices.steps, np.int32))


def logits_of(memories: DeviceMemories, vocab: int, steps: int) -> np.ndarray:
    """The logits of every step, float32 (steps, vocab), all parts of the vocabulary joined."""
    parts = len(memories.logits)
    split = memories.logits.view(np.uint8).reshape(parts, -1).view(np.float32)
    joined = split.reshape(parts, steps, -1).transpose(1, 0, 2).reshape(steps, -1)
    return joined[:, :vocab].copy()
