"""A C++ function called from the translated text."""

from __future__ import annotations

from typing import Any

from allo.dialects.types import AlloType

from .arrays import Array
from .boundary import raw_elements, to_number, to_numpy


def call_external(function: Any, types: list[AlloType], values: list[Any]) -> None:
    """Run a C++ function on NumPy arrays, and take over what it writes."""
    arrays: dict[Any, tuple[Array, Any, AlloType]] = {}
    given = []
    for value, dtype in zip(values, types, strict=True):
        if not isinstance(value, Array):
            given.append(to_number(value, dtype))
            continue
        key = id(value.data), value.offset, value.shape, value.strides
        if key not in arrays:
            elements = [0 if e is None else e for e in value.elements()]
            arrays[key] = value, to_numpy(elements, value.shape, dtype), dtype
        given.append(arrays[key][1])
    function(*given)
    for array, numpy_array, dtype in arrays.values():
        array.store(raw_elements(numpy_array, dtype))
