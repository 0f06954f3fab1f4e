"""Checked subscripts: where they stand, and the error for one that is out of range."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .._mlir import ir
from ..diagnostics import BoundsError, SourcePlace
from .locations import place_of

CHECK = "allo.check_bounds"


@dataclass(frozen=True, slots=True)
class BoundsSite:
    """One check of the subscripts of one access.

    Attributes:
        array: the name of the array.
        shape: its extents; None for one that only the run knows.
    """

    array: str
    shape: tuple[int | None, ...]
    place: SourcePlace | None

    @property
    def words(self) -> int:
        """How many numbers tell of a failure: a subscript a dimension, then the open extents."""
        return len(self.shape) + self.shape.count(None)

    def error(self, words: Sequence[int]) -> BoundsError:
        """The exception for a failure that these numbers tell of, as signed integers."""
        rank = len(self.shape)
        index = tuple(words[:rank])
        opened = iter(words[rank:])
        shape = tuple(next(opened) if extent is None else extent for extent in self.shape)
        wrong = [
            f"dimension {d} takes 0 to {extent - 1}"
            for d, (i, extent) in enumerate(zip(index, shape, strict=True))
            if not 0 <= i < extent
        ]
        return BoundsError(
            f"Index out of range: {self.array}[{', '.join(map(str, index))}] of an array of shape "
            f"[{', '.join(map(str, shape))}]; {' and '.join(wrong)}.",
            self.place,
            array=self.array,
            index=index,
            shape=shape,
            help="guard the access with an if, or make the array larger.",
        )


def site_of(op: ir.Operation) -> BoundsSite:
    """What an ``allo.check_bounds`` says of itself."""
    shape = [None if extent < 0 else extent for extent in op.attributes["shape"]]
    return BoundsSite(op.attributes["array"].value, tuple(shape), place_of(op))


def as_signed_words(words: Sequence[int]) -> list[int]:
    """64-bit words as signed integers."""
    return [(word ^ (1 << 63)) - (1 << 63) for word in words]
