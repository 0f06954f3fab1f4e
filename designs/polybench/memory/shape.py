"""What the designs of this folder share: their shape, and how a matrix is divided over banks."""

from __future__ import annotations

from dataclasses import dataclass

from allo import Partition
from allo.customize import Schedule
from allo.ir.utils import MockBuffer


@dataclass(frozen=True, slots=True)
class Shape:
    """How much of a matrix a design takes at once.

    Attributes:
        rows: of a tile, which is kept on chip while the next one is filled.
        lanes: neighbours in a row that are copied, and computed, in a cycle.
        each: lanes of the other arrays, where they are not as many.
    """

    rows: int
    lanes: int
    each: tuple[int, ...] = ()


def bank(s: Schedule, lanes: int, *arrays: MockBuffer, dim: int = 1) -> None:
    """So many neighbours along a dimension in as many banks."""
    for array in arrays:
        s.partition(array, partition_type=Partition.Cyclic, dim=dim, factor=lanes)
