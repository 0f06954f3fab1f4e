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
        rows: that are computed, or kept, at once.
        lanes: neighbours in a row that come in a cycle.
        each: lanes of the other arrays, where they are not as many, or what the design says.
    """

    rows: int
    lanes: int
    each: tuple[int, ...] = ()


def bank(s: Schedule, lanes: int, *arrays: MockBuffer, dim: int = 1) -> None:
    """So many neighbours along a dimension in as many banks."""
    for array in arrays:
        s.partition(array, partition_type=Partition.Cyclic, dim=dim, factor=lanes)
