"""The host side of the accelerator for blocks: prompts and tokens of a decoder, sequences of an encoder."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...checkpoints.quantize import QuantizedModel
from ...config import Architecture
from ..host import PositionError
from ..memories import Memories, logits_of, make_memories
from ..parameters import Wide
from .parameters import Block, cached_words, said_block_words


def make_block_memories(weights: QuantizedModel, wide: Wide, block: Block) -> Memories:
    """Memories of the region after ``start``, with the weights in place and an empty cache."""
    config = weights.config
    cached = cached_words(config, wide, block)
    memories = make_memories(weights, wide, cached, said_block_words(config, wide, block))
    channel, affine, gains, *rest = memories.constant
    each = np.repeat(gains[None], block.norms, axis=0)
    memories.constant = (channel, affine, each, *rest)
    return memories


def feed(
    run: Callable[..., Any],
    weights: QuantizedModel,
    block: Block,
    memories: Memories,
    tokens: np.ndarray,
    start: int = 0,
) -> np.ndarray:
    """One step: the logits after the last of ``tokens``, which stand at ``start`` and behind it.

    Args:
        run: the built region.

    Raises:
        PositionError: a token is not in the vocabulary, there is none or there are more than a step
            takes, or they do not fit the cache.
    """
    config, count = weights.config, len(tokens)
    if not config.causal:
        raise PositionError(
            "An encoder has no logits of a next token, and cannot be fed in parts.",
            help="give its sequence whole to encode, which returns the hidden values of every token.",
        )
    _check_tokens(tokens, config)
    if not 1 <= count <= block.most:
        raise PositionError(
            f"A step of {count} tokens is asked for, and this accelerator takes 1 to {block.most}.",
            help="feed a longer prompt in parts.",
        )
    if start < 0 or start + count > config.context:
        raise PositionError(
            f"The positions {start} to {start + count - 1} are not all among the {config.context} "
            "of the model.",
            help="shorten the sequence.",
        )
    _run(run, block, memories, tokens, start)
    return logits_of(memories, config)


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
    _run(run, block, memories, tokens, 0)
    every = memories.logits.view(np.uint8).reshape(-1).view(np.float32).reshape(-1, config.d)
    return every[:count].copy()


def _check_tokens(tokens: np.ndarray, config: Architecture) -> None:
    bad = [int(token) for token in tokens if not 0 <= token < config.vocab]
    if bad:
        raise PositionError(
            f"The token {bad[0]} is not one of the {config.vocab} of the model.",
            help=f"a token is from 0 to {config.vocab - 1}.",
        )


def _run(
    run: Callable[..., Any], block: Block, memories: Memories, tokens: np.ndarray, start: int
) -> None:
    taken = np.zeros(block.most, np.int32)
    taken[: len(tokens)] = tokens
    waves = -(-len(tokens) // block.tokens)
    run(taken, len(tokens), waves, int(start), *memories.arguments())
