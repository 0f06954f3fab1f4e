"""How the wide accelerator's memories are filled: weights by channel, tables as words of V pairs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from allo.utils import get_np_struct_type

from ..config import GPTConfig
from ..network.weights import QuantizedWeights
from .nibble_words import pack_nibbles
from .parameters import Wide, padded_vocab


def words_of(raw: np.ndarray, bits: int) -> np.ndarray:
    """An array as words of ``bits`` bits over its last axis, the first element lowest."""
    flat = np.ascontiguousarray(raw)
    dtype = np.dtype(f"u{bits // 8}") if bits <= 64 else get_np_struct_type(bits)
    words: np.ndarray = flat.view(np.uint8).reshape(*raw.shape[:-1], -1).view(dtype)
    return words


def job_names(config: GPTConfig) -> list[tuple[str, ...]]:
    """The linear layers of every job of a step, in order."""
    jobs: list[tuple[str, ...]] = []
    for layer in range(config.layers):
        p = f"{layer}."
        jobs += [(p + "q", p + "k", p + "v"), (p + "p",), (p + "f1",), (p + "f2",)]
    return [*jobs, ("head",)]


def _padded(array: np.ndarray, rows: int) -> np.ndarray:
    return np.concatenate([array, np.zeros((rows - len(array), *array.shape[1:]), array.dtype)])


def _jobs(weights: QuantizedWeights, wide: Wide, suffix: str) -> list[np.ndarray]:
    """One array a job: outputs of its linear layers, the last job's padded with zeros."""
    arrays = weights.arrays
    jobs = [np.concatenate([arrays[n + suffix] for n in job]) for job in job_names(weights.config)]
    jobs[-1] = _padded(jobs[-1], padded_vocab(weights.config, wide))
    return jobs


def channel_words(weights: QuantizedWeights, wide: Wide) -> np.ndarray:
    """Every channel's weights in the order of their use: output by output, input by input.

    Raises:
        NibbleError: four-bit weights are asked for, and the model's are others.
    """
    c = wide.channels
    rows = [
        job.reshape(-1, c, job.shape[1]).transpose(1, 0, 2).reshape(c, -1)
        for job in _jobs(weights, wide, ".w")
    ]
    if wide.bits == 4:
        rows[:-1] = [pack_nibbles(row, wide.lanes) for row in rows[:-1]]
    return words_of(np.concatenate(rows, axis=1), 8 * wide.lanes)


def _pairs(first: np.ndarray, second: np.ndarray, wide: Wide) -> np.ndarray:
    """Pairs of float32 as words of V of them."""
    pairs = np.stack([first.reshape(-1), second.reshape(-1)], axis=-1).astype(np.float32)
    return words_of(pairs.reshape(-1), 64 * wide.vector)


@dataclass(slots=True)
class Memories:
    """The arrays of the region after ``token`` and ``start``, in its order."""

    constant: tuple[np.ndarray, ...]
    keys: np.ndarray
    values: np.ndarray
    logits: np.ndarray

    def arguments(self) -> tuple[np.ndarray, ...]:
        """The arrays as the region takes them."""
        return (*self.constant, self.keys, self.values, self.logits)


def make_memories(weights: QuantizedWeights, wide: Wide) -> Memories:
    """Memories with the weights in place and an empty cache."""
    config, arrays, v = weights.config, weights.arrays, wide.vector
    norms = [f"{i}.{n}" for i in range(config.layers) for n in ("norm1", "norm2")] + ["norm"]
    layers = range(config.layers)

    def factors(name: str) -> np.ndarray:
        return np.array([arrays[f"{i}.{name}"][0] for i in layers], np.float32)

    per_unit = config.heads // wide.heads
    cache = np.zeros((wide.heads, config.layers * per_unit * config.context, config.head_dim))
    constant = (
        channel_words(weights, wide),
        _pairs(
            np.concatenate(_jobs(weights, wide, ".s")),
            np.concatenate(_jobs(weights, wide, ".b")),
            wide,
        ),
        _pairs(
            np.stack([arrays[n + ".g"] for n in norms]),
            np.stack([arrays[n + ".b"] for n in norms]),
            wide,
        ),
        words_of(arrays["token"].reshape(-1), 32 * v),
        words_of(arrays["position"].reshape(-1), 32 * v),
        np.tile(factors("softmax"), (wide.heads, 1)),
        factors("attend"),
        factors("gelu"),
    )
    keys, values = (words_of(cache.astype(np.int8), 8 * config.head_dim)[..., 0] for _ in "kv")
    logits = words_of(np.zeros(padded_vocab(config, wide), np.float32), 32 * v)
    return Memories(constant, keys, values, logits)


def logits_of(memories: Memories, config: GPTConfig) -> np.ndarray:
    """The logits a step has written, float32, without what pads them."""
    return memories.logits.view(np.uint8).reshape(-1).view(np.float32)[: config.vocab].copy()
