"""Words of banks from the cells of arrays, and back."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from allo.backend.rtl.design import ArrayInterface
from allo.backend.sim.boundary.storage import arrangement, cell_bits, from_banks, is_sign_extended
from allo.backend.sim.testbench.vectors import bank_words


def words_of(cells: np.ndarray, array: ArrayInterface) -> list[list[int]]:
    """The words of every bank of an array."""
    return bank_words(array, cells)


def cells_of(words: Sequence[Sequence[int]], cells: np.ndarray, array: ArrayInterface) -> None:
    """Put the words of every bank into the cells of an array."""
    kept, layout = arrangement(array.layout), array.layout
    size = cell_bits(array.dtype) // 8
    banks = np.zeros((layout.bank_count * layout.bank_depth, size), np.uint8)
    wide = (1 << 8 * size) - (1 << array.width) if is_sign_extended(array.dtype) else 0
    for bank, row in enumerate(words):
        for word, value in enumerate(row):
            filled = value | wide if value >> (array.width - 1) else value
            text = filled.to_bytes(size, "little")
            banks[bank * kept.bank_stride + word * kept.word_stride] = np.frombuffer(text, np.uint8)
    flat = banks.reshape(-1).view(f"V{size}")
    if kept.positions is None:
        cells.reshape(-1).view(np.uint8)[:] = banks.reshape(-1)
    else:
        from_banks(flat, cells, layout, array.dtype)
