"""The host side of the accelerator for blocks: a prompt, or a token, a step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...network.weights import QuantizedWeights
from ..host import PositionError
from ..memories import Memories, logits_of, make_memories
from ..parameters import Wide
from .parameters import Block


def make_block_memories(weights: QuantizedWeights, wide: Wide, block: Block) -> Memories:
    """Memories of the region after ``start``, with the weights in place and an empty cache."""
    memories = make_memories(weights, wide)
    channel, affine, gains, *rest = memories.constant
    each = np.repeat(gains[None], block.norms, axis=0)
    memories.constant = (channel, affine, each, *rest)
    return memories


def feed(
    run: Callable[..., Any],
    weights: QuantizedWeights,
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
    bad = [int(token) for token in tokens if not 0 <= token < config.vocab]
    if bad:
        raise PositionError(
            f"The token {bad[0]} is not one of the {config.vocab} of the model.",
            help=f"a token is from 0 to {config.vocab - 1}.",
        )
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
    taken = np.zeros(block.most, np.int32)
    taken[:count] = tokens
    waves = -(-count // block.tokens)
    run(taken, count, waves, int(start), *memories.arguments())
    return logits_of(memories, config)
