"""Streams as the translator knows them: a FIFO, or an array of FIFOs, of a region."""

from __future__ import annotations

from dataclasses import dataclass

from allo.dialects.types import AlloType


@dataclass
class StreamSymbol:
    """A stream of a region, or a parameter that stands for one.

    Attributes:
        name: the user's name.
        dtype: the type of an element.
        block: the shape of a block; None where elements are scalars.
        depth: how many elements it holds.
        shape: the extents of an array of FIFOs; () for one FIFO.
        python: the name in the translated text.
    """

    name: str
    dtype: AlloType
    block: tuple[int, ...] | None
    depth: int
    shape: tuple[int, ...]
    python: str
