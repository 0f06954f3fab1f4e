"""Networks of lookup tables: each node is a function of few bits, and equal nodes are one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

ZERO, ONE = -1, -2
"""The constant bits; inputs and nodes have numbers from 0."""

type Function = NDArray[np.bool_]
"""The values of a function of ``n`` bits, at ``2**n`` places; bit ``k`` of a place is variable ``k``."""


@dataclass(frozen=True, slots=True)
class Table:
    """One lookup table.

    Attributes:
        inputs: bits that it reads, the lowest of its address first.
        words: what it holds; bit ``k`` is the result at address ``k``.
    """

    inputs: tuple[int, ...]
    words: int


class Network:
    """Tables over numbered inputs; table ``k`` is the bit ``count + k``."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.tables: list[Table] = []
        self._known: dict[Table, int] = {}

    def table(self, variables: Sequence[int], function: Function) -> int:
        """The bit that a function of bits is: a constant, one of them, or a table, made once."""
        function, kept = reduced(*_distinct(function, variables))
        if not kept:
            return ONE if function[0] else ZERO
        if len(kept) == 1 and function[1]:
            return kept[0]
        order = sorted(range(len(kept)), key=kept.__getitem__)
        made = Table(tuple(kept[k] for k in order), packed(arranged(function, order)))
        if made not in self._known:
            self._known[made] = self.count + len(self.tables)
            self.tables.append(made)
        return self._known[made]

    def cut(self, size: int) -> None:
        """Take back the tables from number ``size`` on."""
        for table in self.tables[size:]:
            del self._known[table]
        del self.tables[size:]

    def kept(self, outputs: Iterable[int]) -> list[int]:
        """The numbers of the tables that outputs depend on, each behind those that it reads."""
        found: set[int] = set()
        left = [bit for bit in outputs if bit >= self.count]
        while left:
            bit = left.pop()
            if bit not in found:
                found.add(bit)
                left += [i for i in self.tables[bit - self.count].inputs if i >= self.count]
        return sorted(found)

    def levels(self, outputs: Iterable[int]) -> int:
        """The tables on the longest path to an output."""
        deep: dict[int, int] = {}
        for bit in self.kept(outputs):
            read = self.tables[bit - self.count].inputs
            deep[bit] = 1 + max((deep.get(i, 0) for i in read), default=0)
        return max(deep.values(), default=0)


def reduced(function: Function, variables: Sequence[int]) -> tuple[Function, list[int]]:
    """A function without the variables that make no difference to it."""
    kept = list(variables)
    for place in reversed(range(len(kept))):
        halves = function.reshape(-1, 2, 1 << place)
        if np.array_equal(halves[:, 0], halves[:, 1]):
            function = halves[:, 0].reshape(-1)
            del kept[place]
    return function, kept


def arranged(function: Function, order: Sequence[int]) -> Function:
    """A function whose variable ``k`` is number ``order[k]`` of the one given."""
    count = len(order)
    if list(order) == list(range(count)):
        return function
    axes = [count - 1 - variable for variable in reversed(order)]
    return np.ascontiguousarray(function.reshape((2,) * count).transpose(axes)).reshape(-1)


def packed(function: Function) -> int:
    """The values as the bits of a number, the first the lowest."""
    return int.from_bytes(np.packbits(function, bitorder="little").tobytes(), "little")


def _distinct(function: Function, variables: Sequence[int]) -> tuple[Function, list[int]]:
    """The function with constant variables set, and those that occur twice made one."""
    kept = list(variables)
    for place in reversed(range(len(kept))):
        bit = kept[place]
        if bit >= 0 and bit not in kept[:place]:
            continue
        halves = function.reshape(-1, 2, 1 << place)
        if bit < 0:
            function = halves[:, int(bit == ONE)].reshape(-1)
        else:
            first = kept.index(bit)
            at = np.arange(function.size >> 1)
            below, above = at & ((1 << place) - 1), at >> place
            value = at >> first & 1
            function = function[above << (place + 1) | value << place | below]
        del kept[place]
    return function, kept
