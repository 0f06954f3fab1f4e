"""Which device families there are: those of Allo, each a file beside this one, and those of users."""

from __future__ import annotations

import importlib
import threading
from collections.abc import Mapping

from allo.dialects.diagnostics import BuildError, DeviceError
from allo.dialects.text.near import did_you_mean

from .checks import check_record
from .record import DeviceRecord

_FILES = ("xcup", "xc7", "ecp5", "ice40", "gowin", "gatemate", "generic")
"""The files with ``RECORDS``, in the order in which messages name them."""
DEFAULT_DEVICE = _FILES[0]
"""The family of a build that names none."""


class _Registry:
    """The records by name; a table is never changed, so that a thread sees all of one or of another."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._table: Mapping[str, DeviceRecord] | None = None
        self._own: frozenset[str] = frozenset()

    def table(self) -> Mapping[str, DeviceRecord]:
        return self._table if self._table is not None else self._load()

    def add(self, record: DeviceRecord) -> None:
        with self._lock:
            self._table = _with(self.table(), record)

    def remove(self, name: str) -> None:
        """Forget a record; raises DeviceError for one of Allo's own."""
        with self._lock:
            table = self.table()
            if name in self._own:
                raise DeviceError(
                    f"The device family {name!r} is one of Allo's own.",
                    help="only what register() was given can be forgotten.",
                )
            self._table = {key: value for key, value in table.items() if key != name}

    def _load(self) -> Mapping[str, DeviceRecord]:
        with self._lock:
            if self._table is None:
                table: Mapping[str, DeviceRecord] = {}
                for name in _FILES:
                    for record in importlib.import_module(f"{__package__}.{name}").RECORDS:
                        table = _with(table, record)
                self._own = frozenset(table)
                self._table = table
            return self._table


def _with(table: Mapping[str, DeviceRecord], record: DeviceRecord) -> Mapping[str, DeviceRecord]:
    """A table with one record more, if it can be one."""
    check_record(record)
    if record.name in table:
        raise DeviceError(
            f"There is a device family {record.name!r} already.",
            help=f"give the field name another value than {', '.join(table)}.",
        )
    return {**table, record.name: record}


_REGISTRY = _Registry()


def register(record: DeviceRecord) -> None:
    """Let ``device=`` take a family from now on.

    Raises:
        DeviceError: a field of the record lacks, is of the wrong type or negative, or its name is taken.
    """
    _REGISTRY.add(record)


def unregister(name: str) -> None:
    """Forget a family of :func:`register`.

    Raises:
        DeviceError: it is one of Allo's own.
    """
    _REGISTRY.remove(name)


def families() -> tuple[str, ...]:
    """The names of all families, Allo's own first."""
    return tuple(_REGISTRY.table())


def synthesised() -> tuple[str, ...]:
    """The families that Yosys synthesises for."""
    return tuple(name for name, record in _REGISTRY.table().items() if record.synthesis is not None)


def routed() -> tuple[str, ...]:
    """The families that an open tool places and routes."""
    return tuple(name for name, record in _REGISTRY.table().items() if record.routing is not None)


def routers() -> tuple[str, ...]:
    """The routers that some family has, each once, behind the choice by the size of the design."""
    names: dict[str, None] = {"auto": None}
    for record in _REGISTRY.table().values():
        if record.routing is not None:
            names |= dict.fromkeys(record.routing.routers)
    return tuple(names)


def resources_of(name: str) -> Mapping[str, int]:
    """What the largest usual device of a family has, by resource; empty where there is none.

    Raises:
        BuildError: there is no such family.
    """
    part = family(name).part
    return {} if part is None else part.resources


def family_of_part(part: str) -> str:
    """The name of the family that a vendor's part is of, or the nearest to it; the default where none is."""
    named = (
        name for name, record in _REGISTRY.table().items() if part.startswith(record.part_names)
    )
    return next(named, DEFAULT_DEVICE)


def family(name: str) -> DeviceRecord:
    """The record of the family called ``name``.

    Raises:
        BuildError: there is none.
    """
    table = _REGISTRY.table()
    if name in table:
        return table[name]
    hint = did_you_mean(name, table)
    raise BuildError(
        f"There is no device family {name!r}.", help=f"{hint}known families: {', '.join(table)}."
    )
