"""Keys and values in the channels of the weights, as :mod:`.serve` reads and writes them."""

from __future__ import annotations

import numpy as np

from ...config import Architecture
from ..parameters import Wide, kept_lines, page_lines
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


def fill_nibbles(
    memory: np.ndarray,
    config: Architecture,
    wide: Wide,
    place: tuple[int, int],
    levels: np.ndarray,
    steps: np.ndarray,
) -> None:
    """Put a layer's keys, or its values, of four bits in the channels, with their steps.

    Args:
        memory: the channels' words.
        place: 0 for keys or 1 for values, and the layer.
        levels: (heads of a unit, units, positions, elements).
        steps: (heads of a unit, units, positions, groups).
    """
    which, layer = place
    per_unit, count = config.kv_heads // wide.heads, levels.shape[2]
    u, k, held, page = wide.heads, wide.across, lines_of(config, wide), page_lines(config, wide)
    lines = memory.view(np.uint8).reshape(wide.channels, -1, wide.lanes)
    bytes_of = lines[:, held.pages : held.pages + held.cache]
    pages = bytes_of.reshape(u, k, config.layers, per_unit, page, wide.lanes)
    half, each = wide.lanes // 2, steps.shape[3]
    four = levels.astype(np.int8).view(np.uint8) & 15
    packed = four[..., 0::2] | four[..., 1::2] << 4
    for position in range(count):
        row, channel = divmod(position, k)
        block, slot = divmod(row, wide.kept_block)
        told = block * (wide.kept_block + 1)
        at = half * which + slot * each
        here = pages[:, channel, layer]
        here[:, :, told, at : at + each] = steps[:, :, position].swapaxes(0, 1)
        here[:, :, told + 1 + slot, half * which : half * which + half] = packed[
            :, :, position
        ].swapaxes(0, 1)
