"""Block RAM of arrays: how many blocks of 18 kbit a device needs for an array that is spread over banks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import ceil, prod

import numpy as np

from allo.backend.devices import Cells, family
from allo.backend.rtl.resources.memory import Memory, memory_cost
from allo.backend.rtl.resources.nodes import constant

from .kernel import Array, Dimension, Kernel

_DEEPEST = 1 << 22
"""Words of a memory that is made of blocks in any case."""
_UNKNOWN = 0
"""A node of which nothing is known, as what is written to a memory."""


@dataclass(slots=True)
class Blocks:
    """Blocks of memory of one device.

    A bank is counted as a memory that one port reads and one port writes. An array without banks that is too
    small for a block is made of lookup tables. Several banks are blocks however small they are: where a sum
    is stored and set to zero by two ports, there is no other memory for them.
    """

    device: str
    _least: dict[int, int] = field(default_factory=dict)

    def of_banks(self, array: Array, banks: np.ndarray, words: np.ndarray) -> np.ndarray:
        """Blocks of so many banks of so many words each, one row of both after the other."""
        cells = family(self.device).cells
        each = np.full(len(words), np.iinfo(np.int64).max)
        for shapes, size in cells.blocks:
            for deep, wide in shapes:
                each = np.minimum(each, size * ceil(array.bits / wide) * -(-words // deep))
        small = (words < self._least_words(cells, array.bits)) & (banks == 1)
        each = np.where(small, 0, each)
        found: np.ndarray = array.copies * banks * each
        return found

    def of(self, array: Array, banks: Mapping[Dimension, int]) -> int:
        """Blocks of one array."""
        factors = [banks.get((array.key, dim), 1) for dim in range(len(array.shape))]
        words = prod(-(-e // f) for e, f in zip(array.shape, factors, strict=True))
        count, each = np.array([prod(factors)]), np.array([max(1, words)])
        return int(self.of_banks(array, count, each)[0])

    def of_local(self, kernel: Kernel, banks: Mapping[Dimension, int]) -> int:
        """Blocks of all arrays that a design holds."""
        return sum(self.of(array, banks) for array in kernel.arrays.values() if array.local)

    def _least_words(self, cells: Cells, width: int) -> int:
        """The fewest words of a width that are put into a block."""
        if width not in self._least:
            low, high = 1, _DEEPEST
            while low < high:
                middle = (low + high) // 2
                memory = Memory(middle, width, False, "")
                memory.reads.append((constant(1, 1), 0))
                word = ((_UNKNOWN, 0, width),)
                memory.writes.append((constant(0, 1), word, constant(1, 1)))
                taken = memory_cost(cells, memory, lambda _: True)
                low, high = (low, middle) if taken.keys() & {"bram", "uram"} else (middle + 1, high)
            self._least[width] = low
        return self._least[width]
