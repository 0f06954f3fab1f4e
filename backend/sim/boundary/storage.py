"""How arrays lie in memory for the driver: cells in the order banks hold them.

Cells are those of :mod:`allo.dialects.boundary.storage`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from allo.dialects.boundary.arguments import Call
from allo.dialects.boundary.storage import cell_bytes
from allo.dialects.core.partition import ArrayLayout
from allo.dialects.types import Index, parse_type


@lru_cache(maxsize=256)
def cell_bits(dtype: str) -> int:
    """Bits of a cell for a declared type's name."""
    return 8 * cell_bytes(parse_type(dtype))


def word_bits(width: int) -> int:
    """Bits of a cell for a word of a stream, which may be a block and of any width."""
    return max(8, 1 << (width - 1).bit_length()) if width <= 64 else -(-width // 128) * 128


def slots_of(dtype: str) -> int:
    """64-bit slots a cell takes in the driver's context."""
    return -(-cell_bits(dtype) // 64)


@lru_cache(maxsize=256)
def is_sign_extended(dtype: str) -> bool:
    """Whether the cell repeats the sign bit: only that of an index, wider than its word."""
    return isinstance(parse_type(dtype), Index)


def int_to_words(value: int, count: int) -> list[int]:
    """``value`` as ``count`` 64-bit limbs, lowest first."""
    return [(value >> (64 * k)) & ((1 << 64) - 1) for k in range(count)]


def words_to_int(words: list[int]) -> int:
    """The inverse of :func:`int_to_words`."""
    return sum(int(word) << (64 * k) for k, word in enumerate(words))


@dataclass(frozen=True, slots=True)
class Arrangement:
    """Where the driver keeps word ``w`` of bank ``b``: at ``b * bank_stride + w * word_stride``.

    Attributes:
        positions: that position for each element, row-major; None when it is the element's
            own number, so that no copy is needed.
    """

    bank_stride: int
    word_stride: int
    positions: np.ndarray | None


@lru_cache(maxsize=256)
def arrangement(layout: ArrayLayout) -> Arrangement:
    """How the driver keeps an array: as it is where the partition allows, else word by word.

    Words of one address side by side suit banks that are read together.
    """
    bank, word = banks_and_words(layout)
    by_word = (1, layout.bank_count)
    for strides in (by_word, (layout.bank_depth, 1)):
        positions = (bank * strides[0] + word * strides[1]).reshape(-1)
        if np.array_equal(positions, np.arange(layout.bank_count * layout.bank_depth)):
            return Arrangement(*strides, None)
    positions = (bank * by_word[0] + word * by_word[1]).reshape(-1)
    positions.setflags(write=False)
    return Arrangement(*by_word, positions)


def banks_and_words(layout: ArrayLayout) -> tuple[np.ndarray, np.ndarray]:
    """Bank number and word address of every element."""
    bank = np.zeros((), dtype=np.int64)
    word = np.zeros((), dtype=np.int64)
    for dim in layout.dims:
        banks, offsets = dim.split(np.arange(dim.extent, dtype=np.int64))
        bank = bank[..., None] * dim.banks + banks
        word = word[..., None] * dim.depth + offsets
    return bank, word


def fill_results(call: Call, seed: int) -> None:
    """Random first contents of the arrays a call returns: a kernel must write what it returns."""
    rng = np.random.default_rng(seed)
    for parameter, cells in zip(call.signature.results, call.outputs, strict=True):
        if parameter.shape is None or not cells.size:
            continue
        data = cells.reshape(-1).view(np.uint8)
        data[:] = rng.integers(0, 256, data.size, np.uint8)
        if parameter.dtype.bits == 1:
            data &= 1


def to_banks(cells: np.ndarray, layout: ArrayLayout, dtype: str) -> np.ndarray:
    """An array's cells in bank order; the cells themselves where the two orders are one."""
    positions = arrangement(layout).positions
    if positions is None:
        return cells
    flat = _flat(cells, dtype)
    banks = np.zeros(layout.bank_count * layout.bank_depth, flat.dtype)
    banks[positions] = flat
    return banks


def from_banks(banks: np.ndarray, cells: np.ndarray, layout: ArrayLayout, dtype: str) -> None:
    """Copy cells in bank order back into ``cells``."""
    positions = arrangement(layout).positions
    if positions is not None:
        _flat(cells, dtype)[:] = banks[positions]


def _flat(cells: np.ndarray, dtype: str) -> np.ndarray:
    """Contiguous cells as one row of opaque items."""
    return cells.reshape(-1).view(f"V{cell_bits(dtype) // 8}")
