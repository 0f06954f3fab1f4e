"""Keys and values in the channels of the weights, as :mod:`.serve` reads and writes them."""

from __future__ import annotations

import numpy as np

from ...config import Architecture
from ..parameters import Wide, kept_lines


def with_pages(words: np.ndarray, config: Architecture, wide: Wide) -> np.ndarray:
    """Every channel's weights with an empty cache behind them."""
    lines = 2 * config.layers * (config.kv_heads // wide.heads) * kept_lines(config, wide)
    return np.concatenate([words, np.zeros((wide.channels, lines), words.dtype)], axis=1)


def fill_pages(
    memory: np.ndarray, config: Architecture, wide: Wide, which: int, layer: int, kept: np.ndarray
) -> None:
    """Put a layer's keys, or its values, in the channels.

    Args:
        memory: the channels' words, which :func:`with_pages` has made.
        which: 0 for keys, 1 for values.
        kept: int8, (heads of a unit, units, positions, elements).
    """
    kept_in, per_unit = kept_lines(config, wide), config.kv_heads // wide.heads
    u, k = wide.heads, wide.across
    lines = 2 * config.layers * per_unit * kept_in
    bytes_of = memory.view(np.int8).reshape(wide.channels, -1, wide.lanes)[:, -lines:]
    pages = bytes_of.reshape(u, k, config.layers, per_unit, kept_in, 2, wide.lanes)
    room = np.zeros((per_unit, u, kept_in * k, config.head_dim), np.int8)
    room[:, :, : kept.shape[2]] = kept
    parts = room.reshape(per_unit, u, kept_in, k, config.head_dim)
    pages[:, :, layer, :, :, which] = parts.transpose(1, 3, 0, 2, 4)
