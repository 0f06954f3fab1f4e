"""How the wide accelerator's memories are filled: weights by channel, tables as words of V pairs."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from allo.utils import get_np_struct_type

from ..checkpoints.float_model import rotation
from ..checkpoints.quantize import QuantizedModel
from ..config import Architecture
from ..ternary.words import ternary_words
from .external.lines import (
    from_channels,
    lines_of,
    on_channels,
    table_on_channels,
    table_rows,
)
from .families.model import job_layers, norm_names, terms
from .nibble_words import pack_nibbles, pack_offsets
from .parameters import Wide, WidthError, padded_vocab, said_words


def words_of(raw: np.ndarray, bits: int) -> np.ndarray:
    """An array as words of ``bits`` bits over its last axis, the first element lowest."""
    flat = np.ascontiguousarray(raw)
    dtype = np.dtype(f"u{bits // 8}") if bits <= 64 else get_np_struct_type(bits)
    words: np.ndarray = flat.view(np.uint8).reshape(*raw.shape[:-1], -1).view(dtype)
    return words


def paired(rows: np.ndarray, width: int, turned: int | None = None) -> np.ndarray:
    """The rows of every head of ``width`` with its pairs (i, i + half of what is turned) beside each other.

    Args:
        turned: elements of a head that are turned, by default all; the others follow as they are.
    """
    order = head_order(width, width if turned is None else turned)
    heads = rows.reshape(len(rows) // width, width, *rows.shape[1:])
    return heads[:, order].reshape(rows.shape)


def head_order(width: int, turned: int) -> np.ndarray:
    """The elements of a head as the hardware has them: turned pairs are side by side, the others follow."""
    pairs = np.arange(turned).reshape(2, -1).T.ravel()
    return np.concatenate([pairs, np.arange(turned, width)])


def by_turns(first: np.ndarray, second: np.ndarray, count: int) -> np.ndarray:
    """``count`` rows of one array and of the other, by turns."""
    parts = [array.reshape(-1, count, *array.shape[1:]) for array in (first, second)]
    return np.stack(parts, axis=1).reshape(-1, *first.shape[1:])


def padded(array: np.ndarray, rows: int) -> np.ndarray:
    """An array with rows of zeros behind its own, up to a number."""
    return np.concatenate([array, np.zeros((rows - len(array), *array.shape[1:]), array.dtype)])


def widened(job: np.ndarray, lanes: int) -> np.ndarray:
    """A job's weights with zeros behind the inputs of each output, up to whole words."""
    spare = -job.shape[1] % lanes
    return np.pad(job, ((0, 0), (0, spare))) if spare else job


def _jobs(weights: QuantizedModel, wide: Wide, suffix: str) -> list[np.ndarray]:
    """One array a job: outputs of an entrance, of linear layers, and of the logits, padded with zeros."""
    m = weights.config
    first = [weights.arrays[name] for name in ("enter" + suffix,) if name in weights.arrays]
    last = [padded(weights.arrays["head" + suffix], padded_vocab(m, wide))] if m.has_head else []
    return first + _layer_jobs(weights, wide, suffix) + last


def _layer_jobs(weights: QuantizedModel, wide: Wide, suffix: str) -> list[np.ndarray]:
    """One array a job of the layers."""
    arrays, m = weights.arrays, weights.config
    jobs = []
    for layer in range(m.layers):
        for names in job_layers(m):
            parts = [arrays[f"{layer}.{name}{suffix}"] for name in names]
            if names[0] == "q" and m.rotary:
                parts[:2] = [paired(part, m.head_dim, 2 * len(m.rotary)) for part in parts[:2]]
            if names[0] == "gate":
                parts = [by_turns(parts[0], parts[1], wide.vector)]
            jobs.append(np.concatenate(parts))
    return jobs


def by_channels(job: np.ndarray, channels: int) -> np.ndarray:
    """A job's weights in the order in which each of the channels uses them, a row a channel."""
    return job.reshape(-1, channels, job.shape[1]).transpose(1, 0, 2).reshape(channels, -1)


def _channel_jobs(weights: QuantizedModel, wide: Wide) -> list[np.ndarray]:
    """Of every job each channel's weights in the order of their use: output by output, input by input."""
    jobs = _jobs(weights, wide, ".w")
    if wide.bits == 8 and not wide.trits:
        jobs = [widened(job, wide.lanes) for job in jobs]
    rows = [by_channels(job, wide.channels) for job in jobs]
    if wide.group:
        q, steps, offsets = (
            [by_channels(job, wide.channels) for job in _layer_jobs(weights, wide, suffix)]
            for suffix in (".q", ".d", ".m")
        )
        described = zip(q, steps, offsets, strict=True)
        rows[:-1] = [pack_offsets(*job, lanes=wide.lanes) for job in described]
    elif wide.bits == 4:
        inputs = [job.shape[1] for job in _layer_jobs(weights, wide, ".w")]
        packed = zip(rows[:-1], inputs, strict=True)
        rows[:-1] = [pack_nibbles(row, depth, wide.lanes) for row, depth in packed]
    return rows


def channel_words(weights: QuantizedModel, wide: Wide) -> np.ndarray:
    """Every channel's weights, job by job.

    Raises:
        NibbleError, TernaryError: four-bit or ternary weights are asked for, and the model's are others.
    """
    words = np.concatenate(_channel_jobs(weights, wide), axis=1)
    return ternary_words(words, wide.trits) if wide.trits else words_of(words, 8 * wide.lanes)


def all_words(weights: QuantizedModel, wide: Wide) -> np.ndarray:
    """All that lies on the channels where these have one reader each, as :mod:`.external.lines` orders it.

    Raises:
        NibbleError: four-bit weights are asked for, and the model's are others.
    """
    config, v = weights.config, wide.vector
    held, per_sum = lines_of(config, wide), terms(config)[0]
    suffixes = (".s", ".b")[:per_sum]
    sums = [
        together(list(parts)).reshape(-1, v)
        for parts in zip(*(_jobs(weights, wide, end) for end in suffixes), strict=True)
    ]
    counts = table_rows(config, wide)
    gains = iter(_gains(weights).reshape(2 * config.layers + config.has_head, -1, v))
    factors: np.ndarray = np.zeros((config.layers, 3, v), np.float32)
    for which, name in enumerate(("softmax", "attend", "gelu")):
        if which < 2 or not wide.block:
            factors[:, which, 0] = _factors(weights, name)
    parts = [on_channels([factors], wide)]
    for number, (words, factor) in enumerate(zip(_channel_jobs(weights, wide), sums, strict=True)):
        is_last = number == 4 * config.layers
        has_gains = counts[4 if is_last else number % 4][0] > 0
        parts.append(on_channels([next(gains), factor] if has_gains else [factor], wide))
        parts.append(words)
    none = np.zeros((wide.channels, held.cache * wide.lanes), np.int8)
    ends = np.zeros((wide.channels, held.said * wide.lanes), np.int8)
    rows = [
        table_on_channels(table, wide) for table in (weights.arrays["token"], _positions(weights))
    ]
    return words_of(np.concatenate([*parts, none, *rows, ends], axis=1), 8 * wide.lanes)


def together(arrays: list[np.ndarray]) -> np.ndarray:
    """The first number of every array, then the second of every one, and so on, float32."""
    rows = np.stack([array.reshape(-1) for array in arrays], axis=-1)
    return rows.astype(np.float32).reshape(-1)


def _tuples(arrays: list[np.ndarray], wide: Wide) -> np.ndarray:
    """One number of each array together, float32, as words of V such tuples."""
    return words_of(together(arrays), 32 * len(arrays) * wide.vector)


def _positions(weights: QuantizedModel) -> np.ndarray:
    """What is added to a token at each position, or the cosines and sines of its pairs; float32.

    The pairs that stay as they are have an angle of zero.
    """
    m = weights.config
    if not m.rotary:
        return weights.arrays["position"]
    still = (0, 0), (0, m.head_dim // 2 - len(m.rotary))
    cosine, sine = rotation(m, 0, m.context)
    return np.stack([np.pad(cosine, still, constant_values=1), np.pad(sine, still)], axis=-1)


@dataclass(slots=True)
class Memories:
    """The arrays of the region after ``token`` and ``start``, in its order.

    Where the channels of the weights hold everything, there is no other array: ``said`` are then the lines
    of each channel, at its end, that a step writes, and ``wide`` says how they are dealt.

    Attributes:
        ended: levels and steps that a step tells of what its tokens end in, where it does.
        given: those that its tokens are given, where they are.
    """

    constant: tuple[np.ndarray, ...]
    keys: np.ndarray
    values: np.ndarray
    logits: np.ndarray
    ended: tuple[np.ndarray, ...] = field(default=(), kw_only=True)
    given: tuple[np.ndarray, ...] = field(default=(), kw_only=True)
    said: int = field(default=0, kw_only=True)
    wide: Wide | None = field(default=None, kw_only=True)

    def arguments(self) -> tuple[np.ndarray, ...]:
        """The arrays as the region takes them."""
        if self.said:
            return self.constant
        cache = (self.keys, self.values) if self.keys.size else ()
        return (*self.constant, *cache, self.logits, *self.ended, *self.given)

    def written(self) -> np.ndarray:
        """What a step has written, float32: the logits and what pads them, and behind them the largest."""
        if self.wide is not None and self.said:
            return from_channels(self.constant[0], self.said, self.wide)
        flat: np.ndarray = self.logits.view(np.uint8).reshape(-1).view(np.float32)
        return flat


def _gains(weights: QuantizedModel) -> np.ndarray:
    """Gains, shifts and steps of the norms, as many of them as the family has, element by element."""
    names, d = norm_names(weights.config), weights.config.d
    terms_of_norms = (".g", ".b", ".q")[: terms(weights.config)[1]]
    arrays = [
        np.stack([np.broadcast_to(weights.arrays[name + end], (d,)) for name in names])
        for end in terms_of_norms
    ]
    return together(arrays)


def _norm_table(weights: QuantizedModel, wide: Wide) -> np.ndarray:
    return words_of(_gains(weights), 32 * terms(weights.config)[1] * wide.vector)


def _factors(weights: QuantizedModel, name: str) -> np.ndarray:
    """A factor of the activations of each layer."""
    layers = range(weights.config.layers)
    return np.array([weights.arrays[f"{i}.{name}"][0] for i in layers], np.float32)


def make_memories(
    weights: QuantizedModel, wide: Wide, cached: int | None = None, said: int | None = None
) -> Memories:
    """Memories with the weights in place and an empty cache.

    Args:
        cached: words of a head's width that a unit keeps of keys, and of values; by default those of
            every layer and position.
        said: words of V float32 that a step writes; by default those of the logits.
    """
    config, arrays, v = weights.config, weights.arrays, wide.vector
    _check_blocks(weights, wide)
    if wide.cache == "channels":
        empty = np.zeros(0, np.int8)
        written = lines_of(config, wide).said
        return Memories((all_words(weights, wide),), empty, empty, empty, said=written, wide=wide)
    per_sum, _ = terms(config)
    per_unit = config.kv_heads // wide.heads
    cached = cached or config.layers * per_unit * config.context
    cache: np.ndarray = np.zeros((wide.heads, cached, config.head_dim), np.int8)
    constant = (
        channel_words(weights, wide),
        _tuples(
            [np.concatenate(_jobs(weights, wide, end)) for end in (".s", ".b")[:per_sum]], wide
        ),
        _norm_table(weights, wide),
        words_of(arrays["token"].reshape(-1), 32 * v),
        words_of(_positions(weights).reshape(-1), 32 * v),
        np.tile(_factors(weights, "softmax"), (wide.heads, 1)),
        _factors(weights, "attend"),
        *(() if wide.block else (_factors(weights, "gelu"),)),
    )
    keys, values = (words_of(cache.copy(), 8 * config.head_dim)[..., 0] for _ in "kv")
    logits = words_of(np.zeros((said or said_words(config, wide)) * v, np.float32), 32 * v)
    return Memories(constant, keys, values, logits)


def _check_blocks(weights: QuantizedModel, wide: Wide) -> None:
    """Refuse a model whose activations or weights are in other groups than the accelerator's."""
    if weights.block != wide.block:
        raise WidthError(
            f"The model's activations are in blocks of {weights.block}, and those of the accelerator of "
            f"{wide.block} (0 stands for static steps).",
            help=f"quantise the model with block={wide.block}.",
        )
    if weights.group != wide.group:
        raise WidthError(
            f"The model's four-bit weights have offsets for groups of {weights.group}, and those of the "
            f"accelerator for groups of {wide.group} (0 stands for none).",
            help="quantise the model with offsets and a group of as many inputs as there are lanes."
            if wide.group
            else "take bits=4 and a block of as many activations as a group has.",
        )


def logits_of(memories: Memories, config: Architecture) -> np.ndarray:
    """The logits a step has written, float32, without what pads them."""
    return memories.written()[: config.vocab].copy()
