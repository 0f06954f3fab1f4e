"""The exact choice of which units are made of multiplier blocks, for every number of blocks at once.

An integer program with one constraint: of each kind of unit, how many are in blocks, so that together they
take at most so many blocks and save the most lookup tables. That is the bounded knapsack problem, whose
dynamic program over the number of blocks is exact (Martello and Toth, *Knapsack Problems*, 1990, chapter 3);
counts are split into powers of two, so that it takes steps in the logarithm of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Kind:
    """Units of one kind.

    Attributes:
        count: how many of them may be in blocks, each by itself.
        blocks: multiplier blocks that one takes there; at least 1.
        saves: lookup tables that it takes less there; negative where it takes more.
    """

    count: int
    blocks: int
    saves: int


class Knapsack:
    """The best choices among kinds of units, for 0 to ``room`` blocks."""

    def __init__(self, kinds: Sequence[Kind], room: int) -> None:
        self._kinds = kinds
        self._parts: list[tuple[int, int, NDArray[np.bool_]]] = []
        self._saved = np.zeros(room + 1, np.int64)
        for number, kind in enumerate(kinds):
            left = kind.count if kind.saves > 0 else 0
            size = 1
            while left:
                some = min(size, left)
                self._add(number, some, some * kind.blocks, some * kind.saves)
                left, size = left - some, 2 * size

    def _add(self, number: int, some: int, blocks: int, saves: int) -> None:
        taken = np.zeros(self._saved.size, np.bool_)
        if blocks < self._saved.size:
            with_it = self._saved[: self._saved.size - blocks] + saves
            taken[blocks:] = with_it > self._saved[blocks:]
            self._saved[blocks:] = np.maximum(self._saved[blocks:], with_it)
        self._parts.append((number, some, taken))

    def fewest(self, saves: int, least: int = 0) -> int | None:
        """The fewest blocks, from ``least`` on, that save so many lookup tables; None where none do."""
        enough = np.flatnonzero(self._saved[least:] >= saves)
        return least + int(enough[0]) if enough.size else None

    def choice(self, blocks: int) -> list[int]:
        """Of each kind how many are in blocks, where so many blocks are there."""
        found = [0] * len(self._kinds)
        for number, some, taken in reversed(self._parts):
            if taken[blocks]:
                found[number] += some
                blocks -= some * self._kinds[number].blocks
        return found
