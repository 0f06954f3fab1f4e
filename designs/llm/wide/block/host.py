"""The host side of the accelerator for blocks: steps of rows of a decoder, sequences of an encoder."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ...checkpoints.quantize import QuantizedModel
from ...config import Architecture
from ..host import PositionError, by_heads, in_pairs, of_units
from ..memories import Memories, make_memories
from ..parameters import Wide, WidthError, padded_vocab
from .parameters import Block, cached_words, lane_words, said_block_words
from .reference import RowsGPT
from .rows import Rows, check_rows, following
from .tokens.ended import Ended, empty_ended, read_ended, write_given
from .tokens.resident import Shared, residents


def make_block_memories(weights: QuantizedModel, wide: Wide, block: Block) -> Memories:
    """Memories of the region after ``spoken``, with the weights in place and an empty cache."""
    config = weights.config
    cached = cached_words(config, wide, block)
    memories = make_memories(weights, wide, cached, said_block_words(config, wide, block))
    channel, affine, gains, *rest = memories.constant
    each = np.repeat(gains[None], block.norms, axis=0)
    memories.constant = (channel, affine, each, *rest)
    if block.hidden:
        memories.ended = empty_ended(
            lane_words(block.spoken, config, wide, block), block.spoken, wide, block
        )
    if block.entrance:
        memories.given = empty_ended(
            lane_words(block.most, config, wide, block), block.most, wide, block
        )
    return memories


def make_both(
    model: QuantizedModel, head: QuantizedModel, wide: Wide, block: Block
) -> tuple[Shared, Shared]:
    """Memories of a design that has a model and its draft head: the same ones, to run either with.

    Raises:
        WidthError: the head is no head of this model, or has other logits than the design.
    """
    of_model, of_head = residents(model.config, wide, block)
    if head.config != of_head.sizes.model:
        raise WidthError(
            f"The draft head has the shape {head.config}, and the design one of {of_head.sizes.model}.",
            help="quantise a head of this model, with as many logits as Block(draft=…) has.",
        )
    first, second = (
        make_block_memories(weights, wide, one.sizes.block)
        for weights, one in ((model, of_model), (head, of_head))
    )
    axes = 1, 0, 1, 0, None, 1, 0
    constant = tuple(
        a if axis is None else np.concatenate([a, b], axis)
        for a, b, axis in zip(first.constant, second.constant, axes, strict=True)
    )
    keys, values = (
        np.concatenate([getattr(first, of), getattr(second, of)], 1) for of in ("keys", "values")
    )
    both = Shared(
        constant,
        keys,
        values,
        first.logits,
        ended=first.ended,
        given=second.given,
        resident=of_model,
    )
    return both, replace(both, resident=of_head)


def put_cache(
    memories: Memories,
    wide: Wide,
    block: Block,
    model: RowsGPT,
    slot: int = 0,
) -> None:
    """Put the keys and values of a sequence that the reference has in the cache."""
    for mine, theirs in cached_pairs(memories, wide, block, model, slot):
        mine[...] = theirs


def cached_pairs(
    memories: Memories, wide: Wide, block: Block, model: RowsGPT, slot: int = 0
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Of each layer the keys, and the values, of a sequence: a view of the memory, and the reference's.

    Both are (heads of a unit, units, entries, width).
    """
    m = model.weights.model
    entries = slice(slot * m.context, (slot + 1) * m.context)
    own = memories.resident.keys if isinstance(memories, Shared) else slice(None)
    for name, memory in (("k", memories.keys[:, own]), ("v", memories.values[:, own])):
        for layer in range(m.layers):
            kept = in_pairs(model.cache(f"{layer}.{name}")[slot], name, m)
            yield by_heads(memory, m, wide)[layer][:, :, entries], of_units(kept, wide)


def feed(
    run: Callable[..., Any],
    weights: QuantizedModel,
    block: Block,
    memories: Memories,
    tokens: np.ndarray,
    start: int = 0,
    slot: int = 0,
) -> np.ndarray:
    """One step: the logits after the last of ``tokens``, which stand at ``start`` and behind it.

    Args:
        run: the built region.
        slot: the sequence that they belong to.

    Raises:
        PositionError: a token is not in the vocabulary, there is none or there are more than a step
            takes, or they do not fit the cache.
    """
    _take(run, weights, block, memories, following(tokens, start, slot), 1)
    return _said(memories)[: weights.config.vocab].copy()


def step(
    run: Callable[..., Any],
    weights: QuantizedModel,
    wide: Wide,
    block: Block,
    memories: Memories,
    rows: Rows,
    spoken: int = 1,
    given: Ended | None = None,
) -> np.ndarray:
    """One step of rows: the logits after each of the last ``spoken``, float32 (spoken, vocabulary).

    Args:
        run: the built region.
        given: what each row is given, of an accelerator with an entrance.

    Raises:
        PositionError: the accelerator does not take these rows, or what they are given is missing.
    """
    config, block = weights.config, _own(block, memories)
    if (0 if given is None else len(given)) != (len(rows) if block.entrance else 0):
        raise PositionError(
            f"A step of {len(rows)} tokens is given values for {0 if given is None else len(given)}, and the "
            f"accelerator has {'an' if block.entrance else 'no'} entrance.",
            help="give each row its values where Block(entrance=…) asks for them, and none otherwise.",
        )
    if given is not None:
        write_given(memories.given, given, wide, block)
    _take(run, weights, block, memories, rows, spoken)
    # Groups of as many logits as there are channels, and in each group row by row.
    every = _said(memories)[: spoken * padded_vocab(config, wide)]
    by_rows = every.reshape(-1, spoken, wide.channels).transpose(1, 0, 2).reshape(spoken, -1)
    return by_rows[:, : config.vocab].copy()


def ended(
    weights: QuantizedModel, wide: Wide, block: Block, memories: Memories, spoken: int
) -> Ended:
    """What the last ``spoken`` rows of the last step end in, of an accelerator that tells it.

    Raises:
        PositionError: it does not.
    """
    if not block.hidden:
        raise PositionError(
            "The accelerator does not tell what its rows end in.",
            help="build it with Block(hidden=True).",
        )
    return read_ended(memories.ended, weights, wide, block, spoken)


def encode(
    run: Callable[..., Any],
    weights: QuantizedModel,
    block: Block,
    memories: Memories,
    tokens: np.ndarray,
) -> np.ndarray:
    """The hidden values of every token behind an encoder's last layer, float32 (tokens, width).

    Args:
        run: the built region.
        tokens: the sequence, whole.

    Raises:
        PositionError: the model is a decoder, a token is not in the vocabulary, or there is none or there are
            more than the accelerator takes.
    """
    config, count = weights.config, len(tokens)
    if config.causal:
        raise PositionError(
            f"A model of the family {config.family!r} is a decoder, which gives logits.",
            help="feed its tokens by feed.",
        )
    _check_tokens(tokens, config)
    if not 1 <= count <= block.most:
        raise PositionError(
            f"A sequence of {count} tokens is given, and this accelerator takes 1 to {block.most}.",
            help="an encoder sees its sequence whole: build the accelerator with a larger most, at most "
            f"the {config.context} tokens of the model's context.",
        )
    each, none = np.arange(count), np.zeros(count, np.int64)
    _run(run, block, memories, (tokens, each, none, each, none - 1), 1)
    return _said(memories).reshape(-1, config.d)[:count].copy()


def _check_tokens(tokens: np.ndarray, config: Architecture) -> None:
    bad = [int(token) for token in tokens if not 0 <= token < config.vocab]
    if bad:
        raise PositionError(
            f"The token {bad[0]} is not one of the {config.vocab} of the model.",
            help=f"a token is from 0 to {config.vocab - 1}.",
        )


def _own(block: Block, memories: Memories) -> Block:
    """The parameters of what runs, in a design with several models."""
    return memories.resident.sizes.block if isinstance(memories, Shared) else block


def _take(
    run: Callable[..., Any],
    weights: QuantizedModel,
    block: Block,
    memories: Memories,
    rows: Rows,
    spoken: int,
) -> None:
    config = weights.config
    if not config.causal:
        raise PositionError(
            "An encoder has no logits of a next token, and cannot be fed in parts.",
            help="give its sequence whole to encode, which returns the hidden values of every token.",
        )
    check_rows(rows, spoken, config, _own(block, memories))
    tokens, bases = rows.tokens, rows.slots * config.context
    if isinstance(memories, Shared):
        bases = bases + memories.resident.first_key
        tokens = tokens + memories.resident.tokens_at
    taken = (tokens, rows.positions, bases, rows.places, rows.masks.view(np.int32))
    _run(run, block, memories, taken, spoken)


def _said(memories: Memories) -> np.ndarray:
    said: np.ndarray = memories.logits.view(np.uint8).reshape(-1).view(np.float32)
    return said


def _run(
    run: Callable[..., Any],
    block: Block,
    memories: Memories,
    rows: Sequence[np.ndarray],
    spoken: int,
) -> None:
    count = len(rows[0])
    given = np.zeros((len(rows), block.most), np.int32)
    given[:, :count] = rows
    waves = -(-count // block.tokens)
    call: tuple[int, ...] = ()
    if isinstance(memories, Shared):
        memories.resident.check(memories)
        call = memories.resident.call()
    run(*given, count, waves, spoken, *call, *memories.arguments())
