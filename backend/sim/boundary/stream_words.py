"""Stream arguments at the Python boundary: arrays of elements, or of blocks.

For the design a block is one word, its elements packed, row-major, first element lowest.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod

import numpy as np

from allo.backend.rtl.design import HardwareDesign, StreamInterface
from allo.dialects.boundary.arguments import Parameter, Signature
from allo.dialects.boundary.storage import cell_bytes
from allo.dialects.types import Stream

from .storage import word_bits


def with_stream_arrays(signature: Signature, design: HardwareDesign) -> Signature:
    """``signature`` with each stream taken as an array of any number of elements (or blocks)."""
    directions = {stream.name: stream.direction for stream in design.streams}
    arguments = tuple(
        _as_array(parameter, parameter.dtype, directions.get(name, "in"))
        if isinstance(parameter.dtype, Stream)
        else parameter
        for parameter, name in zip(signature.arguments, design.arguments, strict=True)
    )
    return replace(signature, arguments=arguments)


def _as_array(parameter: Parameter, stream: Stream, direction: str) -> Parameter:
    shape = (None, *stream.shape)
    return replace(parameter, dtype=stream.dtype, shape=shape, written=direction == "out")


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
