"""Calls of C++ functions, ``allo.IPModule``: the one thing here that is not read but run."""

from __future__ import annotations

import ast
from typing import Any

from allo.dialects.diagnostics import TypeMismatchError
from allo.dialects.types import AlloType

from .body import Body
from .expressions.meaning import cast
from .expressions.values import Value
from .rules import UINT1
from .running.arrays import Array
from .running.boundary import raw_elements, to_number, to_numpy
from .running.casts import type_name


def is_external(function: Any) -> bool:
    """Whether a captured object is a C++ function."""
    return hasattr(function, "__allo_external__")


def call(body: Body, function: Any, node: ast.Call) -> Value:
    """The call of a C++ function, whose arguments have exactly its types.

    Raises:
        TypeMismatchError: for a wrong number of arguments or another type.
    """
    if node.keywords or len(node.args) != len(function.args):
        raise TypeMismatchError(
            f"{function.top} takes {len(function.args)} arguments.", body.place(node)
        )
    codes, types = [], []
    for given, (name, dtype, shape) in zip(node.args, function.args, strict=True):
        value = body.expression(given)
        adapts = value.literal and not shape
        if value.is_array != bool(shape) or not (adapts or value.dtype.name == dtype.name):
            raise TypeMismatchError(
                f"The argument {name!r} of {function.top} is {dtype}{list(shape) or ''}, not "
                f"{value.dtype}{list(value.shape or ()) or ''}.",
                body.place(given),
            )
        if value.root is not None:
            value.root.written = True
        codes.append(value.array_code() if shape else cast(body, value, dtype, given))
        types.append(type_name(dtype))
    holder = body.program.constant(function)
    code = f"call_external({holder}, [{', '.join(types)}], [{', '.join(codes)}])"
    return Value(UINT1, code, parts=(None,))


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
