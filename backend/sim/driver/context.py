"""The block of memory through which Python and the driver talk."""

from __future__ import annotations

import numpy as np


class ContextLayout:
    """Gives each named field its place in a run's context, in 64-bit slots."""

    def __init__(self) -> None:
        self._fields: dict[str, tuple[int, int]] = {}
        self._size = 0

    def add(self, name: str, slots: int = 1) -> int:
        """Reserve ``slots`` 64-bit slots; gives the byte offset of the first."""
        self._fields[name] = (self._size, slots)
        self._size += slots
        return 8 * self._fields[name][0]

    def offset(self, name: str) -> int:
        """The byte offset of a field."""
        return 8 * self._fields[name][0]

    def make(self) -> Context:
        """A zeroed context."""
        return Context(dict(self._fields), self._size)


class Context:
    """One run's context: fields by name, as unsigned 64-bit numbers."""

    def __init__(self, fields: dict[str, tuple[int, int]], size: int) -> None:
        self._fields = fields
        self.words = np.zeros(max(1, size), dtype=np.uint64)

    @property
    def address(self) -> int:
        """The address of the first word, which the driver's functions take."""
        return self.words.ctypes.data

    def __getitem__(self, name: str) -> int:
        return int(self.words[self._fields[name][0]])

    def __setitem__(self, name: str, value: int) -> None:
        self.words[self._fields[name][0]] = value

    def offset(self, name: str) -> int:
        """The byte offset of a field."""
        return 8 * self._fields[name][0]

    def field(self, name: str) -> np.ndarray:
        """All slots of a field, as a view."""
        start, slots = self._fields[name]
        return self.words[start : start + slots]
