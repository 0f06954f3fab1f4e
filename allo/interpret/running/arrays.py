"""Arrays as the running program holds them: a flat list, and views into it."""

from __future__ import annotations

from collections.abc import Callable, MutableSequence, Sequence
from typing import Any


def row_major(shape: Sequence[int]) -> tuple[int, ...]:
    """The strides, in elements, of a whole array."""
    strides, step = [], 1
    for extent in reversed(shape):
        strides.append(step)
        step *= extent
    return tuple(reversed(strides))


def size_of(shape: Sequence[int]) -> int:
    """The number of elements of a shape."""
    size = 1
    for extent in shape:
        size *= extent
    return size


class Array:
    """Elements of a flat list. ``None`` is an element that was never written.

    Attributes:
        data: the elements, shared by all views.
        offset: where element (0, 0, …) lies.
        shape: the extents.
        strides: steps in ``data`` along each axis.
    """

    __slots__ = ("data", "offset", "shape", "strides")

    def __init__(
        self,
        data: MutableSequence[Any],
        shape: tuple[int, ...],
        offset: int = 0,
        strides: tuple[int, ...] | None = None,
    ) -> None:
        self.data = data
        self.shape = shape
        self.offset = offset
        self.strides = row_major(shape) if strides is None else strides

    def positions(self, shape: tuple[int, ...] | None = None) -> list[int]:
        """Where the elements lie in ``data``, row by row, broadcast to ``shape`` if given."""
        shape = self.shape if shape is None else shape
        lead = len(shape) - len(self.shape)
        found = [self.offset]
        for axis, extent in enumerate(shape):
            step = 0
            if axis >= lead and self.shape[axis - lead] != 1:
                step = self.strides[axis - lead]
            found = [base + k * step for base in found for k in range(extent)]
        return found

    def elements(self, shape: tuple[int, ...] | None = None) -> list[Any]:
        """The elements row by row, broadcast to ``shape`` if given."""
        data = self.data
        if (shape is None or shape == self.shape) and self._is_whole():
            return list(data)
        return [data[p] for p in self.positions(shape)]

    def _is_whole(self) -> bool:
        return (
            self.offset == 0
            and len(self.data) == size_of(self.shape)
            and self.strides == row_major(self.shape)
        )

    def copy(self) -> Array:
        """An array of its own with the same elements."""
        return Array(self.elements(), self.shape)

    def part(self, *ranges: tuple[int, int]) -> Array:
        """The view of a first element and an extent along each axis."""
        offset = sum(first * step for (first, _), step in zip(ranges, self.strides, strict=True))
        shape = tuple(extent for _, extent in ranges)
        return Array(self.data, shape, self.offset + offset, self.strides)

    def store(self, values: list[Any]) -> None:
        """Write all elements, row by row."""
        if self._is_whole():
            self.data[:] = values
            return
        data = self.data
        for position, value in zip(self.positions(), values, strict=True):
            data[position] = value


class Inside(MutableSequence[Any]):
    """The elements of an array in a Struct, which is a tuple that stores replace.

    Args:
        read: gives the tuple, or None where nothing was written yet.
        write: puts another one in its place.
    """

    def __init__(
        self, size: int, read: Callable[[], Any], write: Callable[[tuple[Any, ...]], None]
    ) -> None:
        self._size, self._read, self._write = size, read, write

    def _elements(self) -> list[Any]:
        return list(self._read() or (None,) * self._size)

    def __len__(self) -> int:
        return self._size

    def __getitem__(self, position: Any) -> Any:
        return self._elements()[position]

    def __setitem__(self, position: Any, value: Any) -> None:
        elements = self._elements()
        elements[position] = value
        self._write(tuple(elements))

    def __delitem__(self, position: Any) -> None:
        raise TypeError("an array in a Struct keeps its elements")

    def insert(self, index: int, value: Any) -> None:
        """Refused: the array keeps its length."""
        raise TypeError("an array in a Struct keeps its length")


def elements_of(value: Any, shape: tuple[int, ...]) -> list[Any]:
    """The elements of an array or of a repeated scalar, in a shape it broadcasts to."""
    if isinstance(value, Array):
        return value.elements(shape)
    return [value] * size_of(shape)


def assign(target: Array, value: Any, function: Callable[[Any], Any] | None) -> None:
    """Store a value, read whole before anything is written, through a cast."""
    values = elements_of(value, target.shape)
    if function is not None:
        values = [None if v is None else function(v) for v in values]
    target.store(values)


def block(
    value: Any, shape: tuple[int, ...], function: Callable[[Any], Any] | None
) -> tuple[Any, ...]:
    """The elements of an array, or of a repeated scalar, as those of an array in a Struct."""
    values = elements_of(value, shape)
    return tuple(v if v is None or function is None else function(v) for v in values)


def copied(value: Array, function: Callable[[Any], Any] | None) -> Array:
    """A new array of the elements, through a cast."""
    values = value.elements()
    if function is not None:
        values = [None if v is None else function(v) for v in values]
    return Array(values, value.shape)
