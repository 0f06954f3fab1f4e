"""Whole-array fill and copy: every bank at once, one or two words of each bank a cycle."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from itertools import product

from allo.dialects.diagnostics import SourcePlace

from ..graph.linear import add, bits_unsigned, constant
from ..graph.nodes import Array, Body, Lin, Node
from ..graph.regions import Block, Leaf, Level, Region
from .accesses import Memory
from .values.builder import Builder


class Bulk:
    """Makes regions (between loops) or nodes (inside a pipeline) for fill and copy."""

    def __init__(self, builder: Builder, memory: Memory) -> None:
        self._b = builder
        self._memory = memory

    def fill(self, array: Array, value: Callable[[], Node], place: SourcePlace | None) -> Region:
        """Set every word to a value."""

        def step(words: list[Lin]) -> None:
            node = value()
            for word in words:
                self._memory.store_all_banks(array, word, [node] * array.banks)

        # A RAM of the module's own keeps one write port; a memory outside has two ports anyway.
        pair = array.storage == "port"
        return self._over_words(array.depth, step, f"fill {array.name}", place, pair=pair)

    def copy(self, source: Array, target: Array, place: SourcePlace | None) -> Region:
        """Copy every word; element by element where the partitions differ."""
        name = f"copy {source.name}"
        if source.layout != target.layout:
            return self._over_elements(source, target, name, place)

        def step(words: list[Lin]) -> None:
            for word in words:
                values = [self._memory.load_bank(source, b, word) for b in range(source.banks)]
                self._memory.store_all_banks(target, word, values)

        pair = target.storage == "port" and source.storage != "reg"
        return self._over_words(source.depth, step, name, place, pair=pair)

    def fill_in_place(self, array: Array, value: Node) -> None:
        """Set every element, as straight-line code of the current body."""
        for index in _indices(array.shape):
            self._memory.store(array, index, value)

    def copy_in_place(self, source: Array, target: Array) -> None:
        """Copy every element, as straight-line code of the current body."""
        for index in _indices(source.shape):
            self._memory.store(target, index, self._memory.load(source, index))

    def _over_words(
        self,
        depth: int,
        step: Callable[[list[Lin]], None],
        name: str,
        place: SourcePlace | None,
        *,
        pair: bool,
    ) -> Region:
        body = self._b.function.new_body()
        if depth <= 2:
            with self._filling(body, place):
                step([constant(word) for word in range(depth)])
            return Block(body)
        half = pair and depth % 2 == 0
        trips = depth // 2 if half else depth
        level = self._level(name, trips, place)
        counter = Lin(0, ((level.iv, 1),))
        with self._filling(body, place):
            step([counter, add(counter, constant(trips))] if half else [counter])
        return Leaf([level], body, 1, band=name, place=place)

    def _over_elements(
        self, source: Array, target: Array, name: str, place: SourcePlace | None
    ) -> Region:
        levels = [self._level(f"{name}.{d}", n, place) for d, n in enumerate(source.shape)]
        index = tuple(Lin(0, ((level.iv, 1),)) for level in levels)
        body = self._b.function.new_body()
        with self._filling(body, place):
            self._memory.store(target, index, self._memory.load(source, index))
            self._memory.finish(body)
        return Leaf(levels, body, 1, band=name, place=place)

    def _filling(self, body: Body, place: SourcePlace | None) -> AbstractContextManager[None]:
        self._b.place = place
        return self._b.filling(body)

    def _level(self, name: str, trips: int, place: SourcePlace | None) -> Level:
        iv = self._b.free_node("iv", bits_unsigned(trips - 1), name)
        iv.high = trips - 1
        return Level(name, iv, trips, place=place)


def _indices(shape: tuple[int, ...]) -> Iterator[tuple[Lin, ...]]:
    for index in product(*(range(extent) for extent in shape)):
        yield tuple(constant(position) for position in index)
