"""Calls of C++ functions, ``allo.IPModule``: the one thing here that is not read but run."""

from __future__ import annotations

import ast
from typing import Any

from allo.dialects.diagnostics import TypeMismatchError

from ..body import Body
from ..rules import UINT1
from ..running.casts import type_name
from .meaning import cast
from .values import Value


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
