"""Figures of a report that are computed when one of them is first read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any


class Later:
    """A part of a report, some of whose fields may be left open.

    An open field is a slot without a value: who reads it has the open fields of the whole report filled in.
    """

    __slots__ = ("_fill",)

    _fill: Callable[[], None]

    @property
    def is_open(self) -> bool:
        """Whether fields of it are still open."""
        return hasattr(self, "_fill")

    def fill(self) -> None:
        """Fill in the open fields of the whole report."""
        if self.is_open:
            self._fill()

    def __getstate__(self) -> object:
        """A copy, or one for another process, has all fields."""
        self.fill()
        return super().__getstate__()

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Where a field has no value."""
            if name.startswith("_") or not self.is_open:
                raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")
            self._fill()
            return object.__getattribute__(self, name)


def leave_open(parts: Iterable[tuple[Later, Sequence[str]]], compute: Callable[[], None]) -> None:
    """Leave fields of parts of a report open.

    Args:
        parts: each with the names of its fields. They have their values again when ``compute`` is called.
        compute: fills them in.
    """
    kept = [(part, {name: getattr(part, name) for name in names}) for part, names in parts]

    def fill() -> None:
        for part, values in kept:
            del part._fill
            for name, value in values.items():
                setattr(part, name, value)
        compute()

    for part, values in kept:
        part._fill = fill
        for name in values:
            delattr(part, name)
