"""The host side of the wide accelerator: one token a step, and a cache filled from the reference."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from allo.errors import AlloError

from ..network.reference import round_clamp
from ..network.weights import QuantizedWeights
from .memories import Memories, logits_of
from .parameters import Wide
from .reference import WideGPT


class PositionError(AlloError):
    """A token or a position that the accelerator has no place for."""


def decode(
    run: Callable[..., Any],
    weights: QuantizedWeights,
    memories: Memories,
    token: int,
    position: int,
) -> np.ndarray:
    """One step: the logits after ``token``, whose key and value are kept at ``position``.

    Args:
        run: the built region.

    Raises:
        PositionError: the token is not in the vocabulary, or the position not in the cache.
    """
    config = weights.config
    for what, value, end in (
        ("token", token, config.vocab),
        ("position", position, config.context),
    ):
        if not 0 <= value < end:
            raise PositionError(
                f"The {what} {value} is not one of the {end} of the model.",
                help=f"a {what} is from 0 to {end - 1}.",
            )
    run(int(token), int(position), *memories.arguments())
    return logits_of(memories, config)


def fill_cache(
    memories: Memories, weights: QuantizedWeights, wide: Wide, tokens: np.ndarray
) -> np.ndarray:
    """Let the reference take all tokens, and put keys and values of all but the last in the cache.

    Returns:
        The logits after the last token, float32, which :func:`decode` of it has to give.
    """
    config, arrays = weights.config, weights.arrays
    layers, heads, context, width = config.layers, config.heads, config.context, config.head_dim
    before = len(tokens) - 1
    caches = {"k": memories.keys, "v": memories.values}
    views = {
        name: cache.view(np.int8).reshape(wide.heads, layers, heads // wide.heads, context, width)
        for name, cache in caches.items()
    }

    def keep(name: str, acc: np.ndarray) -> None:
        layer, _, linear = name.partition(".")
        if linear not in views:
            return
        value = acc[0, :before].astype(np.float32) * arrays[name + ".s"] + arrays[name + ".b"]
        split = round_clamp(value).reshape(before, heads // wide.heads, wide.heads, width)
        views[linear][:, int(layer), :, :before] = split.transpose(2, 1, 0, 3)

    model = WideGPT(weights, wide, keep)
    logits: np.ndarray = model.forward(np.asarray(tokens)[None])[0, -1]
    return logits
