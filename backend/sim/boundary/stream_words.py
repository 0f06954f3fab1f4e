"""Stream arguments of a design as the words of its ports.

For the design a block is one word, its elements packed, row-major, first element lowest.
"""

from __future__ import annotations

from math import prod

import numpy as np

from allo.backend.rtl.design import StreamInterface
from allo.dialects.boundary.arguments import Parameter
from allo.dialects.boundary.storage import cell_bytes

from .storage import word_bits


def to_words(cells: np.ndarray, element: Parameter, stream: StreamInterface) -> np.ndarray:
    """The words of a stream from the cells of its elements; scalars are words already."""
    shape = element.shape or ()
    block = prod(extent or 1 for extent in shape[1:])
    if block == 1 or shape[0] is not None:  # an array as a stream passes its elements
        return cells
    bits = _bits(cells, 8 * cell_bytes(element.dtype))[:, : element.dtype.bits]
    words = bits.reshape(-1, block * element.dtype.bits)
    return _pack(words, word_bits(stream.width))


def from_words(
    words: np.ndarray, cells: np.ndarray, element: Parameter, stream: StreamInterface
) -> None:
    """Put the words a stream delivered back as cells of its elements."""
    if words is cells:
        return
    bits = _bits(words, word_bits(stream.width))[:, : stream.width]
    elements = bits.reshape(-1, element.dtype.bits)
    packed = _pack(elements, 8 * cell_bytes(element.dtype))
    cells.reshape(-1).view(np.uint8)[:] = packed.reshape(-1)


def _bits(cells: np.ndarray, size: int) -> np.ndarray:
    flat = np.ascontiguousarray(cells).reshape(-1).view(np.uint8)
    return np.unpackbits(flat, bitorder="little").reshape(-1, size)


def _pack(rows: np.ndarray, size: int) -> np.ndarray:
    padded = np.zeros((rows.shape[0], size), np.uint8)
    padded[:, : rows.shape[1]] = rows
    return np.packbits(padded, axis=1, bitorder="little")
