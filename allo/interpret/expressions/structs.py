"""Structs written out: ``{"x": a, "y": b}`` where a Struct is expected."""

from __future__ import annotations

import ast

from allo.dialects.diagnostics import TypeMismatchError
from allo.dialects.types import AlloType, Block, Struct

from ..body import Body
from ..running.arrays import size_of
from .meaning import cast
from .tensors import cast_function
from .values import Value


def scalar_as(body: Body, node: ast.expr, dtype: AlloType) -> str:
    """Text of an expression cast to a type; a dict is a Struct of that type."""
    if isinstance(node, ast.Dict):
        return struct_value(body, node, dtype)
    if isinstance(dtype, Block):
        return _elements(body, body.expression(node), dtype, node)
    return cast(body, body.scalar(node), dtype, node)


def struct_value(body: Body, node: ast.Dict, dtype: AlloType) -> str:
    """Text of a Struct from ``{"x": a, "y": b}``."""
    if not isinstance(dtype, Struct):
        raise TypeMismatchError(f"A dict is no {dtype}.", body.place(node))
    given: dict[str, ast.expr] = {}
    for key, value in zip(node.keys, node.values, strict=True):
        if not isinstance(key, ast.Constant) or not isinstance(key.value, str):
            raise TypeMismatchError("A field is named by a string.", body.place(node))
        given[key.value] = value
    if set(given) != set(dtype.fields):
        raise TypeMismatchError(f"The fields are {', '.join(dtype.fields)}.", body.place(node))
    codes = {name: scalar_as(body, value, dtype.fields[name]) for name, value in given.items()}
    if list(codes) == list(dtype.fields):
        return "(" + "".join(f"{code}, " for code in codes.values()) + ")"
    kept = {name: body.keep(code) for name, code in codes.items()}
    return "(" + "".join(f"{kept[name]}, " for name in dtype.fields) + ")"


def _elements(body: Body, value: Value, block: Block, node: ast.AST) -> str:
    """Text of the tuple of an array's elements; of a number, all of them are that."""
    if not value.is_array:
        code = cast(body, value, block.element, node)
        return f"({code},) * {size_of(block.shape)}"
    function = cast_function(value, lambda v: cast(body, v, block.element, node))
    return f"block({value.array_code()}, {block.shape}, {function})"
