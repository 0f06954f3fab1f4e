"""The inputs of a call as the model of regions takes them: words as numbers, bank after bank."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from allo.backend.rtl.design import HardwareDesign
from allo.backend.rtl.regions.follow.instances import Inputs
from allo.dialects.core.partition import ArrayLayout

from .storage import banks_and_words, cell_bits, word_bits


def model_inputs(
    design: HardwareDesign,
    arrays: Mapping[str, np.ndarray],
    scalars: Mapping[str, int],
    streams: Mapping[str, np.ndarray],
) -> Inputs:
    """What a run is given, by the names of the design's ports."""
    return Inputs(
        [
            _in_banks(_numbers(arrays[a.name], cell_bits(a.dtype), a.width), a.layout)
            for a in design.arrays
        ],
        [scalars[port.name] for port in design.scalars_in],
        [
            _numbers(streams[s.name], word_bits(s.width), s.width) if s.direction == "in" else None
            for s in design.streams
        ],
        [streams[s.name].nbytes * 8 // word_bits(s.width) for s in design.streams],
    )


def _numbers(cells: np.ndarray, bits: int, width: int) -> list[int]:
    """Cells as unsigned numbers of so many bits."""
    flat = np.ascontiguousarray(cells).reshape(-1).view(np.uint8)
    size, mask = bits // 8, (1 << width) - 1
    if size <= 8:
        return [int(value) & mask for value in flat.view(f"<u{size}")]
    raw = flat.tobytes()
    starts = range(0, len(raw), size)
    return [int.from_bytes(raw[at : at + size], "little") & mask for at in starts]


def _in_banks(numbers: list[int], layout: ArrayLayout) -> list[int]:
    """Words of an array, bank after bank."""
    bank, word = banks_and_words(layout)
    found = [0] * (layout.bank_count * layout.bank_depth)
    places = (bank * layout.bank_depth + word).reshape(-1)
    for place, number in zip(places.tolist(), numbers, strict=True):
        found[place] = number
    return found
