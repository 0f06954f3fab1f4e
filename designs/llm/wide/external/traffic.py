"""The bytes that a step moves to and from external memory, array by array."""

from __future__ import annotations

from ...config import Architecture
from ..families.model import all_sums, position_row, terms
from ..parameters import Wide, channel_size, padded_vocab, said_words

TABLES = ("affine", "norm_table", "token_table", "position_table", "logits")
"""Arrays that a step reads or writes once, in part or whole."""
CACHE = ("keys", "values")
LINE = 64
"""Bytes that a memory moves at once."""


def read_lines(config: Architecture, positions: int) -> int:
    """Lines of the keys, or values, of a head at so many positions."""
    return -(-positions * config.head_dim // LINE)


def nibble_lines(positions: int, wide: Wide) -> float:
    """Lines of keys and values of four bits of a head: read, and two that are written."""
    rows = -(-positions // wide.across)
    return positions + wide.across * -(-rows // wide.kept_block) + 2


def step_bytes(config: Architecture, wide: Wide, position: int) -> dict[str, int]:
    """Bytes of each large array that the token at ``position`` reads or writes.

    Keys and values are those of a cache in external memory, in whole lines, read once for all queries that
    share them.
    """
    v = wide.vector
    per_sum, per_element = terms(config)
    lines: float = read_lines(config, position) + read_lines(config, 1)
    if wide.kept_block:
        lines = nibble_lines(position, wide) / 2
    kept = round(LINE * lines * config.layers * config.kv_heads)
    sums = all_sums(config, padded_vocab(config, wide))
    return {
        "weights": wide.channels * wide.word * channel_size(config, wide),
        "affine": 4 * per_sum * sums,
        "norm_table": 4 * per_element * (2 * config.layers + 1) * config.d,
        "token_table": 4 * config.d,
        "position_table": 4 * position_row(config),
        "keys": kept,
        "values": kept,
        "logits": 4 * v * said_words(config, wide),
    }


def beside_weights(config: Architecture, wide: Wide, position: int, arrays: tuple[str, ...]) -> int:
    """Bytes of a step that some arrays take from the channels of the weights."""
    moved = step_bytes(config, wide, position)
    return sum(moved[name] for name in arrays)
