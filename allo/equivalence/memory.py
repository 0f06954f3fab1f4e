"""Arrays of symbolic values: storage, views of it, and a journal to undo writes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

from allo.dialects.diagnostics import SourcePlace

from .terms import Value


class Storage:
    """The elements of one allocation.

    Attributes:
        name: the variable's name.
        kind: MLIR type of an element.
        cells: values in row-major order.
        writers: for each element the place that last wrote it.
    """

    __slots__ = ("cells", "kind", "name", "writers")

    def __init__(self, name: str, kind: str, cells: list[Value]) -> None:
        self.name = name
        self.kind = kind
        self.cells = cells
        self.writers: list[SourcePlace | None] = [None] * len(cells)


class View:
    """An array or part of one: where its elements lie in a storage."""

    __slots__ = ("offset", "shape", "storage", "strides")

    def __init__(
        self, storage: Storage, offset: int, shape: tuple[int, ...], strides: tuple[int, ...]
    ) -> None:
        self.storage = storage
        self.offset = offset
        self.shape = shape
        self.strides = strides

    @classmethod
    def whole(cls, storage: Storage, shape: Sequence[int]) -> View:
        """The view of a whole storage as a row-major array."""
        strides = tuple(prod(shape[d + 1 :]) for d in range(len(shape)))
        return cls(storage, 0, tuple(shape), strides)

    def positions(self) -> Iterator[int]:
        """Where the elements lie, in row-major order of the view."""
        for index in product(*map(range, self.shape)):
            yield self.offset + sum(i * s for i, s in zip(index, self.strides, strict=True))

    def values(self) -> list[Value]:
        """The elements, row by row."""
        return [self.storage.cells[p] for p in self.positions()]


@dataclass(frozen=True, slots=True)
class Write:
    """One element as it was before a write."""

    storage: Storage
    position: int
    value: Value
    place: SourcePlace | None


class Memory:
    """Every write goes through here, so that a branch that may not be taken can be undone."""

    def __init__(self) -> None:
        self._journal: list[Write] | None = None

    @property
    def guarded(self) -> bool:
        """Whether what runs now may not run at all."""
        return self._journal is not None

    def write(
        self, storage: Storage, position: int, value: Value, place: SourcePlace | None
    ) -> None:
        """Store a value, and note where."""
        if self._journal is not None:
            old = storage.cells[position]
            self._journal.append(Write(storage, position, old, storage.writers[position]))
        storage.cells[position] = value
        storage.writers[position] = place

    def start(self) -> list[Write] | None:
        """Begin a branch; returns what :meth:`undo` needs."""
        outer, self._journal = self._journal, []
        return outer

    def undo(self, outer: list[Write] | None) -> dict[tuple[Storage, int], Value]:
        """End a branch: take its writes back and return the values it left."""
        journal = self._journal or []
        self._journal = outer
        left = {(w.storage, w.position): w.storage.cells[w.position] for w in journal}
        for write in reversed(journal):
            write.storage.cells[write.position] = write.value
            write.storage.writers[write.position] = write.place
        return left
