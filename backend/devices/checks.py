"""What a record must be before it is registered: its types, and figures that a device can have."""

from __future__ import annotations

import math
import re
import types
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any, Union, get_args, get_origin, get_type_hints

from allo.dialects.diagnostics import DeviceError
from allo.dialects.text.shown import shown

from .record import DeviceRecord

_NAME = re.compile(r"[a-z][a-z0-9_]*")
_WORDS: dict[Any, str] = {
    float: "a number that is finite and not negative",
    int: "an integer that is not negative",
    str: "a text",
    bool: "True or False",
    type(None): "None",
}


def check_record(record: DeviceRecord) -> None:
    """Refuse a record that no device can have.

    Raises:
        DeviceError: a field is of the wrong type, negative, or outside what it can be; it is named.
    """
    if not isinstance(record, DeviceRecord):
        raise DeviceError(
            f"A device family is a DeviceRecord, not {shown(record)}.",
            help="fill in allo.backend.devices.DeviceRecord.",
        )
    if not isinstance(record.name, str) or not _NAME.fullmatch(record.name):
        raise DeviceError(
            "The field name of a device family takes a word of lower-case letters, digits and '_', not "
            f"{shown(record.name)}.",
            help="it is what device= takes.",
        )
    _check_fields(record, record.name, "")
    _check_ranges(record)


def _check_fields(value: Any, family: str, path: str) -> None:
    hints = get_type_hints(type(value))
    for field in fields(value):
        name = f"{path}.{field.name}" if path else field.name
        _check(getattr(value, field.name), hints[field.name], family, name)


def _check(value: Any, hint: Any, family: str, path: str) -> None:
    """Refuse a value that is not of a type, and what is inside it."""
    if not _fits(value, hint):
        raise DeviceError(
            f"The field {path} of device family {family!r} takes {_said(hint)}, not {shown(value)}.",
            help="docs/internals/device_record.md says how each figure is obtained.",
        )
    kind = get_origin(hint)
    arguments = get_args(hint)
    if is_dataclass(value):
        _check_fields(value, family, path)
    elif kind in (tuple, frozenset):
        every = kind is frozenset or arguments[-1] is Ellipsis
        hints = [arguments[0]] * len(value) if every else arguments
        for number, (inner, its) in enumerate(zip(value, hints, strict=True)):
            _check(inner, its, family, f"{path}[{number}]")
    elif kind is Mapping:
        for key, inner in value.items():
            _check(key, arguments[0], family, f"{path}, a key of it,")
            _check(inner, arguments[1], family, f"{path}[{key!r}]")


def _fits(value: Any, hint: Any) -> bool:
    """Whether a value is of a type, whatever is inside it."""
    kind, arguments = get_origin(hint), get_args(hint)
    if kind in (types.UnionType, Union):
        return any(_fits(value, inner) for inner in arguments)
    if kind is tuple:
        fixed = arguments[-1] is not Ellipsis
        return isinstance(value, tuple) and (not fixed or len(value) == len(arguments))
    if kind is not None:
        return isinstance(value, kind)
    if hint is float or hint is int:
        whole = isinstance(value, int) and not isinstance(value, bool)
        number = whole or hint is float and isinstance(value, float) and math.isfinite(value)
        return number and value >= 0
    return isinstance(value, hint)


def _said(hint: Any) -> str:
    """A type in words."""
    kind, arguments = get_origin(hint), get_args(hint)
    if kind in (types.UnionType, Union):
        return " or ".join(_said(inner) for inner in arguments)
    if kind is tuple and arguments[-1] is not Ellipsis:
        return f"a tuple of {len(arguments)}"
    if kind is not None:
        return {tuple: "a tuple", frozenset: "a frozenset"}.get(kind, "a dict")
    return _WORDS.get(hint) or f"a {hint.__name__}"


def _check_ranges(record: DeviceRecord) -> None:
    """Refuse figures that make no hardware, such as lookup tables without inputs."""
    operators, cells = record.operators, record.cells
    shape = "two widths, the larger first"
    rules = (
        ("operators.margin", 0 < operators.margin <= 1, operators.margin, "more than 0 and at most 1"),
        ("operators.level_ns", operators.level_ns > 0, operators.level_ns, "more than 0"),
        ("operators.fanin", operators.fanin >= 2, operators.fanin, "at least 2"),
        ("operators.dsp_shape", _ordered(operators.dsp_shape), operators.dsp_shape, shape),
        ("cells.inputs", cells.inputs >= 2, cells.inputs, "at least 2"),
        ("cells.dsp", _ordered(cells.dsp), cells.dsp, shape),
    )  # fmt: skip
    for path, held, value, wanted in rules:
        if not held:
            raise DeviceError(
                f"The field {path} of device family {record.name!r} is {wanted}, not {shown(value)}.",
                help="docs/internals/device_record.md says how each figure is obtained.",
            )


def _ordered(shape: tuple[int, int]) -> bool:
    return shape[0] >= shape[1] > 0
