"""Ternary weights as the elements take them: words of so many weights each."""

from __future__ import annotations

import numpy as np

from allo.utils import get_np_struct_type

from .packing import bytes_of, pack_trits


def ternary_words(rows: np.ndarray, trits: int) -> np.ndarray:
    """Every channel's weights as words, (channels, words), of ``8 * bytes_of(trits)`` bits.

    Args:
        rows: int8 of -1, 0 and 1 (channels, weights), a multiple of ``trits`` on each channel.
        trits: weights of a word.

    Raises:
        TernaryError: other weights.
    """
    size = bytes_of(trits)
    packed = pack_trits(rows.reshape(len(rows), -1, trits))
    if size > 8:
        return np.ascontiguousarray(packed).view(get_np_struct_type(8 * size))[..., 0]
    held = 1 << (size - 1).bit_length()
    padded = np.pad(packed, [(0, 0), (0, 0), (0, held - size)])
    return np.ascontiguousarray(padded).view(f"u{held}")[..., 0]
