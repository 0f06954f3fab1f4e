"""What ``allo.print``, ``allo.assert`` and the checks do in Python."""

from __future__ import annotations

import ctypes
import sys
from math import prod
from typing import Any

import numpy as np

from allo.dialects.boundary.storage import cell_bytes, decode, natural_dtype, to_python
from allo.dialects.diagnostics import SimulationError
from allo.dialects.types import AlloType, Float, parse_type

from ..lowering.program import EventInfo
from ..lowering.streams import EVENT_SLOT_BYTES


def handle_event(event: EventInfo, data: int) -> None:
    """Print the value at address ``data``, or raise for an assertion or a subscript.

    Raises:
        SimulationError: for an assertion that does not hold.
        BoundsError: for a subscript that is out of range.
        DependenceError: for an asserted dependence that does not hold.
    """
    if event.site is not None:
        slots = range(data, data + event.site.words * EVENT_SLOT_BYTES, EVENT_SLOT_BYTES)
        raise event.site.error([ctypes.c_int64.from_address(slot).value for slot in slots])
    if event.kind == "assert":
        raise SimulationError(f"Assertion failed: {event.text}", event.place)
    value = "" if event.value is None else _read(data, *event.value)
    sys.stdout.write(f"{event.text}{value}{event.after}")


def _read(address: int, name: str, shape: tuple[int, ...] | None) -> Any:
    dtype = parse_type(name)
    if shape is None:
        return to_python(_cells(address, dtype, ()), dtype)
    pointer = ctypes.c_uint64.from_address(address).value
    return decode(_cells(pointer, dtype, shape), dtype)


def _cells(address: int, dtype: AlloType, shape: tuple[int, ...]) -> np.ndarray:
    cell = cell_bytes(dtype)
    raw = np.frombuffer(ctypes.string_at(address, cell * prod(shape)), np.uint8)
    if isinstance(dtype, Float):
        return raw.view(natural_dtype(dtype)).reshape(shape)
    if cell <= 8:
        return raw.view(f"u{cell}").reshape(shape)
    return raw.reshape(*shape, cell)
