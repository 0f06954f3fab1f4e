"""How words lie in memory: arrays as their banks hold them, raw bits as NumPy words.

A word of ``width`` bits takes the next power-of-two number of bytes, little-endian, unused
high bits zero. Words wider than 64 bits are rows of 64-bit limbs.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from allo.dialects.partition import ArrayLayout


def word_bytes(width: int) -> int:
    """Bytes a word of ``width`` bits takes: 1, 2, 4, 8, 16, …"""
    return 1 << max(0, ((width + 7) // 8 - 1).bit_length())


def word_dtype(width: int) -> np.dtype:
    """The NumPy type of one word, or of one of its 64-bit limbs."""
    return np.dtype(f"u{min(8, word_bytes(width))}")


def word_shape(width: int) -> tuple[int, ...]:
    """Trailing extents a word adds to an array: none, or its number of limbs."""
    size = word_bytes(width)
    return () if size <= 8 else (size // 8,)


def int_to_words(value: int, count: int) -> list[int]:
    """``value`` as ``count`` 64-bit limbs, lowest first."""
    return [(value >> (64 * k)) & ((1 << 64) - 1) for k in range(count)]


def words_to_int(words: list[int]) -> int:
    """The inverse of :func:`int_to_words`."""
    return sum(int(word) << (64 * k) for k, word in enumerate(words))


@lru_cache(maxsize=256)
def bank_positions(layout: ArrayLayout) -> np.ndarray | None:
    """For each element, row-major, its position when banks lie one after another.

    None when that is the element's own row-major number, so that no copy is needed.
    """
    bank = np.zeros((), dtype=np.int64)
    word = np.zeros((), dtype=np.int64)
    for dim in layout.dims:
        pairs = np.array([dim.split(p) for p in range(dim.extent)], dtype=np.int64).reshape(-1, 2)
        bank = bank[..., None] * dim.banks + pairs[:, 0]
        word = word[..., None] * dim.depth + pairs[:, 1]
    positions = (bank * layout.bank_depth + word).reshape(-1)
    size = layout.bank_count * layout.bank_depth
    if positions.size == size and np.array_equal(positions, np.arange(size)):
        return None
    positions.setflags(write=False)
    return positions


def to_banks(array: np.ndarray, layout: ArrayLayout, width: int) -> np.ndarray:
    """An array's words in bank order; the array itself where the two orders are one."""
    tail = word_shape(width)
    positions = bank_positions(layout)
    flat = array.reshape(-1, *tail)
    if positions is None:
        return flat
    banks = np.zeros((layout.bank_count * layout.bank_depth, *tail), dtype=array.dtype)
    banks[positions] = flat
    return banks


def from_banks(banks: np.ndarray, array: np.ndarray, layout: ArrayLayout, width: int) -> None:
    """Copy words in bank order back into ``array``."""
    positions = bank_positions(layout)
    if positions is None:
        return
    array.reshape(-1, *word_shape(width))[...] = banks[positions]
