"""What a recorded call gave the design and got from it, as words of its ports."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from allo.backend.rtl.design import ArrayInterface, StreamInterface

from ..boundary.storage import arrangement, to_banks, word_bits


@dataclass(slots=True)
class Vectors:
    """One call, recorded from reset.

    Attributes:
        cycles: from start to done.
        scalars: bits of scalar inputs, by port.
        returned: bits of scalar outputs, by port.
        before, after: cells of the arrays, by name, before the run and after it.
        words: words of the streams, by name: those to feed, or those that came out.
    """

    cycles: int
    scalars: dict[str, int] = field(default_factory=dict)
    returned: dict[str, int] = field(default_factory=dict)
    before: dict[str, np.ndarray] = field(default_factory=dict)
    after: dict[str, np.ndarray] = field(default_factory=dict)
    words: dict[str, np.ndarray] = field(default_factory=dict)


def bank_words(array: ArrayInterface, cells: np.ndarray) -> list[list[int]]:
    """The words of every bank of an array, from its cells."""
    layout = array.layout
    kept = arrangement(layout)
    flat = to_banks(cells, layout, array.dtype)
    words = _integers(flat, layout.bank_count * layout.bank_depth, array.width)
    return [
        [
            words[bank * kept.bank_stride + word * kept.word_stride]
            for word in range(layout.bank_depth)
        ]
        for bank in range(layout.bank_count)
    ]


def stream_words(stream: StreamInterface, words: np.ndarray) -> list[int]:
    """The words of a stream as integers."""
    size = word_bits(stream.width) // 8
    count = np.ascontiguousarray(words).nbytes // size
    return _integers(words, count, stream.width)


def _integers(cells: np.ndarray, count: int, width: int) -> list[int]:
    if not count:
        return []
    rows = np.ascontiguousarray(cells).reshape(-1).view(np.uint8).reshape(count, -1)
    mask = (1 << width) - 1
    return [int.from_bytes(row.tobytes(), "little") & mask for row in rows]
