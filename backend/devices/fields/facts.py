"""What the parts of a device's record have in common: each is given all of its fields by name."""

from __future__ import annotations

from dataclasses import MISSING, fields
from typing import Any, Self

from allo.dialects.diagnostics import DeviceError
from allo.dialects.text.near import did_you_mean


class Facts:
    """A part of a record. One that lacks a field, or has one too many, is not made.

    Raises:
        DeviceError: a field lacks or is unknown; the message names it.
    """

    __slots__ = ()

    def __new__(cls, *args: Any, **given: Any) -> Self:
        if args or given:
            _check_names(cls, given)
        return super().__new__(cls)


def _check_names(cls: type[Any], given: dict[str, Any]) -> None:
    known = {field.name: field for field in fields(cls)}
    lacking = [
        name
        for name, field in known.items()
        if field.default is MISSING and field.default_factory is MISSING and name not in given
    ]
    if lacking:
        raise DeviceError(
            f"A device's record lacks the field {lacking[0]!r} of {cls.__name__}.",
            help=f"its docstring says what each field means; {', '.join(lacking)} must be given.",
        )
    unknown = next((name for name in given if name not in known), None)
    if unknown is not None:
        raise DeviceError(
            f"A device's record has no field {unknown!r} in {cls.__name__}.",
            help=f"{did_you_mean(unknown, known)}its fields are {', '.join(known)}.",
        )
