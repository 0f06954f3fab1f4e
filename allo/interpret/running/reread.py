"""Arrays of integers read as the other signedness: one memory, each element wrapped where it is used."""

from __future__ import annotations

from collections.abc import Iterator, MutableSequence
from typing import Any

from allo.dialects.types import AlloType

from .arrays import Array
from .casts import wrap


class Reread(MutableSequence[Any]):
    """The elements of a list as those of another type; what is stored is stored in the list."""

    def __init__(self, data: Any, stored: AlloType, seen: AlloType) -> None:
        self._data = data
        self._stored = stored
        self._seen = seen

    def __getitem__(self, key: Any) -> Any:
        found = self._data[key]
        if isinstance(key, slice):
            return [_wrapped(v, self._seen) for v in found]
        return _wrapped(found, self._seen)

    def __setitem__(self, key: Any, value: Any) -> None:
        if isinstance(key, slice):
            self._data[key] = [_wrapped(v, self._stored) for v in value]
            return
        self._data[key] = _wrapped(value, self._stored)

    def __len__(self) -> int:
        return len(self._data)

    def __iter__(self) -> Iterator[Any]:
        return iter(self[:])

    def __delitem__(self, key: Any) -> None:
        raise TypeError("The elements of an array stay as many as they are.")

    def insert(self, index: int, value: Any) -> None:
        """Refused: an array keeps its length."""
        raise TypeError("The elements of an array stay as many as they are.")


def _wrapped(value: int | None, dtype: AlloType) -> int | None:
    return None if value is None else wrap(value, dtype)


def reread(array: Array, stored: AlloType, seen: AlloType) -> Array:
    """The same elements as integers of another type of their width."""
    return Array(Reread(array.data, stored, seen), array.shape, array.offset, array.strides)
