"""Kinds of option values: what is accepted, said in words, and how a value is read."""

from __future__ import annotations

import importlib
import math
import operator
import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, Protocol

from ..text.near import did_you_mean
from ..text.shown import shown

_NAME_BYTES = 255
_PATH_BYTES = 4095


def from_above(place: str) -> Any:
    """What a layer above has at ``"module:name"``; the module is imported when this is asked for."""
    module, _, name = place.partition(":")
    return getattr(importlib.import_module(module), name)


class Refused(Exception):
    """A value that is not of the kind; ``reason`` is a further sentence, or ""."""

    def __init__(self, reason: str = "") -> None:
        self.reason = reason
        super().__init__(reason)


def _is_truth(value: Any) -> bool:
    """Whether a value is True or False, of Python or of NumPy (which importing Allo does not load)."""
    kind = type(value)
    return isinstance(value, bool) or (kind.__module__, kind.__name__) == ("numpy", "bool")


class Kind(Protocol):
    """One kind of value."""

    @property
    def accepts(self) -> str:
        """What is accepted, to follow "takes": ``"an integer from 0 to 3"``."""
        ...

    def read(self, value: Any) -> Any:
        """The value in its plain Python type.

        Raises:
            Refused: it is not of this kind.
        """
        ...


@dataclass(frozen=True, slots=True)
class _InWords:
    """A kind that its own words describe."""

    what: str

    @property
    def accepts(self) -> str:
        """What is accepted, in words; see :class:`Kind`."""
        return self.what


@dataclass(frozen=True, slots=True)
class Flag:
    """True or False, and no other value."""

    @property
    def accepts(self) -> str:
        """What is accepted, in words; see :class:`Kind`."""
        return "True or False"

    def read(self, value: Any) -> bool:
        """The value as a Python bool; raises :class:`Refused` for anything but True and False."""
        if not _is_truth(value):
            raise Refused
        return bool(value)


@dataclass(frozen=True, slots=True)
class Integer:
    """An integer from ``low`` to ``high``; True and False are none."""

    low: int
    high: int | None = None

    @property
    def accepts(self) -> str:
        """What is accepted, in words; see :class:`Kind`."""
        if self.high is None:
            return f"an integer of at least {self.low}"
        return f"an integer from {self.low} to {self.high}"

    def read(self, value: Any) -> int:
        """The value as a Python int; raises :class:`Refused` if it is none, or out of range."""
        if _is_truth(value):
            raise Refused
        try:
            number = operator.index(value)
        except TypeError:
            raise Refused from None
        if number < self.low or (self.high is not None and number > self.high):
            raise Refused
        return number


@dataclass(frozen=True, slots=True)
class Number:
    """A finite real number from ``low`` to ``high``; ``open`` leaves out ``high`` itself."""

    low: float
    high: float
    unit: str = ""
    open: bool = False

    @property
    def accepts(self) -> str:
        """What is accepted, in words; see :class:`Kind`."""
        kind = f"a number of {self.unit}" if self.unit else "a number"
        below = " (itself left out)" if self.open else ""
        return f"{kind} from {self.low:g} to {self.high:g}{below}"

    def read(self, value: Any) -> float:
        """The value as a finite float; raises :class:`Refused` if it is none, or out of range."""
        if _is_truth(value) or not isinstance(value, Real):
            raise Refused
        try:
            number = float(value)
        except (OverflowError, ValueError):
            raise Refused from None
        inside = self.low <= number <= self.high and not (self.open and number == self.high)
        if not math.isfinite(number) or not inside:
            raise Refused
        return number


@dataclass(frozen=True, slots=True)
class Text(_InWords):
    """A text of one line, not empty."""

    what: str = "a text"

    def read(self, value: Any) -> str:
        """The value as it is; raises :class:`Refused` unless it is a text of one line, not empty."""
        if not isinstance(value, str) or not value or not value.isprintable():
            raise Refused
        return str(value)


@dataclass(frozen=True, slots=True)
class Choice:
    """One of several names."""

    names: Collection[str]

    @property
    def accepts(self) -> str:
        """What is accepted, in words; see :class:`Kind`."""
        quoted = [repr(name) for name in self.names]
        if len(quoted) == 1:
            return quoted[0]
        return f"{', '.join(quoted[:-1])} or {quoted[-1]}"

    def read(self, value: Any) -> str:
        """The chosen name; raises :class:`Refused`, with a near miss, for any other."""
        if not isinstance(value, str):
            raise Refused
        if value not in self.names:
            raise Refused(did_you_mean(value, self.names).strip())
        return str(value)


@dataclass(frozen=True, slots=True)
class Listed:
    """One of the names that a layer above has: the ground knows where they are, and looks when asked.

    Attributes:
        place: ``"module:function"``; the function gives the names.
    """

    place: str

    @property
    def accepts(self) -> str:
        """What is accepted, in words; see :class:`Kind`."""
        return self._names().accepts

    def read(self, value: Any) -> str:
        """The chosen name; raises :class:`Refused`, with a near miss, for any other."""
        return self._names().read(value)

    def _names(self) -> Choice:
        return Choice(from_above(self.place)())


@dataclass(frozen=True, slots=True)
class PathName:
    """A file or folder by name: text or a path object; ``~`` is expanded."""

    what: str = "a folder"

    @property
    def accepts(self) -> str:
        """What is accepted, in words; see :class:`Kind`."""
        return f"the name of {self.what}, a text or a pathlib.Path"

    def read(self, value: Any) -> str:
        """The path as text with ``~`` expanded; raises :class:`Refused` if no file can have it."""
        if not isinstance(value, (str, os.PathLike)):
            raise Refused
        name = os.fspath(value)
        if not isinstance(name, str):
            raise Refused("names are texts, not bytes.")
        if not name:
            raise Refused("it is empty.")
        if "\0" in name:
            raise Refused("it holds a NUL character.")
        name = os.path.expanduser(name)
        if name.startswith("~"):
            raise Refused("the home folder it begins with is not known.")
        try:
            coded = os.fsencode(os.path.abspath(name))
        except UnicodeEncodeError:
            raise Refused("it cannot be said in the file system's encoding.") from None
        if len(coded) > _PATH_BYTES or max(map(len, coded.split(b"/"))) > _NAME_BYTES:
            raise Refused(f"a name has at most {_NAME_BYTES} bytes, a path {_PATH_BYTES}.")
        return name


@dataclass(frozen=True, slots=True)
class Items:
    """A list or tuple whose items are of one kind."""

    item: Kind

    @property
    def accepts(self) -> str:
        """What is accepted, in words; see :class:`Kind`."""
        return f"a list or tuple, each item {self.item.accepts}"

    def read(self, value: Any) -> tuple[Any, ...]:
        """The items as a tuple, each read; raises :class:`Refused` if one is refused."""
        if isinstance(value, (str, bytes)) or not isinstance(value, Sequence):
            raise Refused
        return tuple(map(self.item.read, value))


@dataclass(frozen=True, slots=True)
class Named:
    """A dict from names to values of one kind."""

    item: Kind

    @property
    def accepts(self) -> str:
        """What is accepted, in words; see :class:`Kind`."""
        return f"a dict from names to {self.item.accepts}"

    def read(self, value: Any) -> dict[str, Any]:
        """The dict with its values read; raises :class:`Refused` and names the key of a bad one."""
        if not isinstance(value, Mapping):
            raise Refused
        found = {}
        for name, item in value.items():
            if not isinstance(name, str):
                raise Refused(f"{shown(name)} is no name.")
            try:
                found[name] = self.item.read(item)
            except Refused as refused:
                what = f"{shown(name)} is given {shown(item)}."
                raise Refused(f"{what} {refused.reason}".strip()) from None
        return found


@dataclass(frozen=True, slots=True)
class Called(_InWords):
    """Something that can be called."""

    what: str = "a function"

    def read(self, value: Any) -> Any:
        """The value as it is; raises :class:`Refused` if it cannot be called."""
        if not callable(value):
            raise Refused
        return value


@dataclass(frozen=True, slots=True)
class Either:
    """A value of one kind or of another."""

    first: Kind
    second: Kind

    @property
    def accepts(self) -> str:
        """What is accepted, in words; see :class:`Kind`."""
        return f"{self.first.accepts}, or {self.second.accepts}"

    def read(self, value: Any) -> Any:
        """The value as the first kind reads it, or else the second, whose refusal is raised."""
        try:
            return self.first.read(value)
        except Refused:
            return self.second.read(value)


@dataclass(frozen=True, slots=True)
class Instance(_InWords):
    """An object of a class, known by its name: the ground does not import the class.

    Attributes:
        what: the sentence's words.
        classes: names of the class or of any of its bases, as ``module.name`` ends.
    """

    classes: tuple[str, ...]

    def read(self, value: Any) -> Any:
        """The value as it is; raises :class:`Refused` if it is of no such class."""
        if not any(base.__name__ in self.classes for base in type(value).__mro__):
            raise Refused
        return value


@dataclass(frozen=True, slots=True)
class Anything(_InWords):
    """Any value: what it means is checked where it is used."""

    what: str = "any value"

    def read(self, value: Any) -> Any:
        """The value as it is."""
        return value
