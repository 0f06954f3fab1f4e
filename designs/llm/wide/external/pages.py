"""Keys and values in the channels of the weights, as :mod:`.serve` reads and writes them."""

from __future__ import annotations

import numpy as np

from ...config import Architecture
from ..parameters import Wide, kept_lines
from .lines import lines_of


def fill_pages(
    memory: np.ndarray, config: Architecture, wide: Wide, which: int, layer: int, kept: np.ndarray
) -> None:
    """Put a layer's keys, or its values, in the channels.

    Args:
        memory: the channels' words.
        which: 0 for keys, 1 for values.
        kept: int8, (heads of a unit, units, positions, elements).
    """
    kept_in, per_unit = kept_lines(config, wide), config.kv_heads // wide.heads
    u, k, held = wide.heads, wide.across, lines_of(config, wide)
    lines = memory.view(np.int8).reshape(wide.channels, -1, wide.lanes)
    bytes_of = lines[:, held.pages : held.pages + held.cache]
    pages = bytes_of.reshape(u, k, config.layers, per_unit, kept_in, 2, wide.lanes)
    room = np.zeros((per_unit, u, kept_in * k, config.head_dim), np.int8)
    room[:, :, : kept.shape[2]] = kept
    parts = room.reshape(per_unit, u, kept_in, k, config.head_dim)
    pages[:, :, layer, :, :, which] = parts.transpose(1, 3, 0, 2, 4)
