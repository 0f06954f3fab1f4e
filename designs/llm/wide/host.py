"""The host side of the wide accelerator: one token a step, and a cache filled from the reference."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from allo.errors import AlloError

from ..checkpoints.quantize import QuantizedModel
from ..config import Architecture
from .candidates.largest import Candidates, candidates_of
from .external.nibble_cache import NibbleWide, reference_of
from .external.pages import fill_nibbles, fill_pages
from .memories import Memories, logits_of, paired
from .parameters import Wide
from .random_weights import SPREAD
from .reference import WideGPT


class PositionError(AlloError):
    """A token or a position that the accelerator has no place for."""


def run_step(
    run: Callable[..., Any],
    weights: QuantizedModel,
    memories: Memories,
    token: int,
    position: int,
) -> None:
    """One step, whose results are in the memories: the token's key and value at ``position``, and the logits.

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


def decode(
    run: Callable[..., Any],
    weights: QuantizedModel,
    memories: Memories,
    token: int,
    position: int,
) -> np.ndarray:
    """All logits after ``token``, by :func:`run_step`, of an accelerator that writes them."""
    run_step(run, weights, memories, token, position)
    return logits_of(memories, weights.config)


def decode_top(
    run: Callable[..., Any],
    weights: QuantizedModel,
    memories: Memories,
    wide: Wide,
    token: int,
    position: int,
) -> Candidates:
    """The likeliest tokens after ``token``, by :func:`run_step`, of an accelerator with ``top``."""
    run_step(run, weights, memories, token, position)
    return candidates_of(memories, weights.config, wide)


def fill_cache(
    memories: Memories, weights: QuantizedModel, wide: Wide, tokens: np.ndarray
) -> np.ndarray:
    """Let the reference take all tokens, and put keys and values of all but the last in the cache.

    Returns:
        The logits after the last token, float32, which :func:`decode` of it has to give.
    """
    model = reference_of(weights, wide)
    logits: np.ndarray = model.feed(np.asarray(tokens)[None])[0, -1]
    _put_cache(memories, model, wide, len(tokens) - 1)
    return logits


def draw_cache(
    memories: Memories, weights: QuantizedModel, wide: Wide, token: int, position: int
) -> np.ndarray:
    """Put keys and values drawn from a seed in the cache, and have the reference go on behind them.

    They are spread as those of :func:`.random_weights.random_weights`, so that a far position costs the
    reference one token.

    Returns:
        The logits after ``token`` at ``position``, float32, which :func:`decode` has to give.
    """
    m, rng = weights.config, np.random.default_rng(position)
    shape = 1, m.kv_heads, position, m.head_dim
    drawn = {
        f"{layer}.{name}": np.clip(np.rint(rng.normal(0, SPREAD, shape)), -127, 127)
        for layer in range(m.layers)
        for name in "kv"
    }
    model = reference_of(weights, wide)
    model.resume(drawn, position)
    logits: np.ndarray = model.feed(np.array([[token]]))[0, -1]
    _put_cache(memories, model, wide, position)
    return logits


def _put_cache(memories: Memories, model: WideGPT, wide: Wide, before: int) -> None:
    """The reference's keys and values of so many tokens, as the hardware keeps them."""
    m = model.weights.model
    merged, per_unit = wide.cache == "channels", m.kv_heads // wide.heads
    if isinstance(model, NibbleWide):
        for which, name in enumerate("kv"):
            for layer in range(m.layers):
                levels, steps = (
                    each[f"{layer}.{name}"][0, :, :before].reshape(per_unit, wide.heads, before, -1)
                    for each in (model.levels, model.steps)
                )
                fill_nibbles(memories.constant[0], m, wide, (which, layer), levels, steps)
        return
    for which, name, memory in ((0, "k", memories.keys), (1, "v", memories.values)):
        for layer in range(m.layers):
            kept = in_pairs(model.kept(f"{layer}.{name}")[0, :, :before], name, m)
            if merged:
                # Heads of keys and values go to the units in turn.
                heads = kept.reshape(per_unit, wide.heads, before, m.head_dim)
                fill_pages(memories.constant[0], m, wide, which, layer, heads)
            else:
                by_heads(memory, m, wide)[layer, :, :, :before] = of_units(kept, wide)


def in_pairs(kept: np.ndarray, name: str, model: Architecture) -> np.ndarray:
    """Keys or values (heads, entries, width) as the hardware keeps them: numbers turned together are beside.

    Args:
        name: "k" or "v"; values are not turned.
    """
    if name != "k" or not model.rotary:
        return kept
    turned = 2 * len(model.rotary)
    return paired(kept.swapaxes(0, 2), model.head_dim, turned).swapaxes(0, 2)


def of_units(kept: np.ndarray, wide: Wide) -> np.ndarray:
    """Heads (heads, entries, width) as (heads of a unit, units, entries, width); they go to units in turn."""
    return kept.reshape(len(kept) // wide.heads, wide.heads, *kept.shape[1:])


def by_heads(memory: np.ndarray, model: Architecture, wide: Wide) -> np.ndarray:
    """A memory of keys or of values as int8 (layers, heads of a unit, units, entries, width), not a copy."""
    shape = wide.heads, model.layers, model.kv_heads // wide.heads, -1, model.head_dim
    return memory.view(np.int8).reshape(shape).transpose(1, 2, 0, 3, 4)
