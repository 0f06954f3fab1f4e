"""Memories, scalars and streams of outside, filled with numbers that are drawn where they are read."""

from __future__ import annotations

from allo.backend.rtl.graph.nodes import Array, Node
from allo.dialects.core.partition import DimPartition, Partition

from .floats import scattered

type Spot = tuple[int, int, int]
"""An array's number, a bank and a word of it."""


def draw(width: int, small: int, *key: int) -> int:
    """A number of some bits: below ``small`` where that is not 0; often a very small one."""
    value = scattered(*key)
    if small:
        return (value >> 7) % (min(small, 3) if value & 1 else small) & ((1 << width) - 1)
    if value & 1:
        return (value >> 5) % 4 & ((1 << width) - 1)
    return value >> 3 & ((1 << width) - 1)


def _position(dim: DimPartition, bank: int, word: int) -> int:
    if dim.kind is None:
        return word
    if dim.kind is Partition.Complete:
        return bank
    return word * dim.banks + bank if dim.kind is Partition.Cyclic else bank * dim.depth + word


def _word(array: Array, bank: int, word: int) -> int:
    """A word of a constant array; 0 where the place is none of an element."""
    flat, factor = 0, 1
    for dim in reversed(array.layout.dims):
        bank, b = divmod(bank, dim.banks)
        word, w = divmod(word, dim.depth)
        position = _position(dim, b, w)
        if position >= dim.extent:
            return 0
        flat, factor = flat + position * factor, factor * dim.extent
    assert array.initial is not None
    return array.initial[flat] if flat < len(array.initial) else 0


class World(dict[Spot, int]):
    """What stands in the memories of a function between its bodies."""

    def __init__(self, arrays: list[Array], small: set[int], seed: int) -> None:
        self.seed = seed
        self._arrays = {array.number: array for array in arrays}
        self._small = small
        self._turn: dict[int, int] = {}
        self.fitting = min((e for a in arrays for e in a.shape if e > 1), default=4)
        self.gets: dict[int, int] = {}

    def __missing__(self, spot: Spot) -> int:
        number, bank, word = spot
        array = self._arrays[number]
        if array.constant and array.initial is not None:
            return _word(array, bank, word)
        small = self.fitting if -number - 1 in self._small else 0
        return draw(array.width, small, self.seed, self._turn.get(number, 0), *spot)

    def change(self, array: Array) -> None:
        """Forget what stands in an array: something else has run that may write it."""
        self._turn[array.number] = self._turn.get(array.number, 0) + 1
        for spot in [spot for spot in self if spot[0] == array.number]:
            del self[spot]

    def outside(self, node: Node, turn: int) -> int:
        """A value of outside a function: a scalar argument, or what a call returns."""
        limit = min(self.fitting, node.high + 1) if node.high else self.fitting
        small = limit if node.number in self._small else 0
        low, high = node.low, node.high
        value = draw(node.width, small, self.seed, node.number, turn)
        if (low or high) and not low <= value <= high:
            value = low + value % (high - low + 1)
        return value & ((1 << node.width) - 1)


class Overlay(dict[Spot, int]):
    """What one run of a body has written."""

    def __init__(self, world: World) -> None:
        self._world = world

    def __missing__(self, spot: Spot) -> int:
        return self._world[spot]
