"""Arrays with elements that are known now: initialisers and stateful variables."""

from __future__ import annotations

import ast
from typing import Any

import numpy as np

from allo.dialects.diagnostics import (
    CompileTimeError,
    ShapeMismatchError,
    TypeMismatchError,
    UnsupportedSyntaxError,
)
from allo.dialects.types import AlloType, Block, Struct

from .body import Body
from .expressions.scalars import exact_to_raw
from .expressions.values import Value, exact_of
from .known import Declared, element_type, is_number, plain_number
from .running.arrays import size_of


def static(body: Body, said: Declared, node: ast.AST) -> tuple[int, ...] | None:
    """The extents of a declaration, all given.

    Raises:
        ShapeMismatchError: when one is ``...``.
    """
    if said.shape is None:
        return None
    known = tuple(extent for extent in said.shape if extent is not None)
    if len(known) != len(said.shape):
        raise ShapeMismatchError("Only an argument may have any length.", body.place(node))
    return known


def flattened(value: Any) -> tuple[list[Any], tuple[int, ...]]:
    """Elements and shape of nested lists or an array."""
    if isinstance(value, np.ndarray):
        return value.reshape(-1).tolist(), value.shape
    if not isinstance(value, (list, tuple)):
        return [value], ()
    parts = [flattened(part) for part in value]
    shapes = {shape for _, shape in parts}
    if len(shapes) != 1:
        raise ValueError("the rows have different lengths")
    return [e for elements_, _ in parts for e in elements_], (len(value), *shapes.pop())


def converted(
    body: Body, value: Any, dtype: AlloType, shape: tuple[int, ...], node: ast.AST
) -> list[Any]:
    """The raw elements of a list or array of numbers, of a given shape."""
    try:
        parts, given = flattened(value)
    except ValueError as error:
        raise ShapeMismatchError(f"The list is no array: {error}.", body.place(node)) from error
    if given != shape:
        raise ShapeMismatchError(
            f"The initialiser has shape {given}, and {shape} is declared.", body.place(node)
        )
    return [_raw(body, part, dtype, node) for part in parts]


def captured_array(body: Body, value: np.ndarray, node: ast.expr) -> Value:
    """A captured array as a value.

    Raises:
        UnsupportedSyntaxError: when its elements have no type of the language.
    """
    dtype = element_type(value)
    if dtype is None:
        raise UnsupportedSyntaxError(
            f"An array of NumPy's {value.dtype} cannot be captured.", body.place(node)
        )
    name = body.program.constant(converted(body, value, dtype, value.shape, node))
    return Value(dtype, f"Array({name}, {value.shape})", shape=value.shape)


def _raw(body: Body, value: Any, dtype: AlloType, node: ast.AST) -> Any:
    if not is_number(value):
        try:
            value = float(value)
        except (TypeError, ValueError) as error:
            raise CompileTimeError(f"{value!r} is no number.", body.place(node)) from error
    return exact_to_raw(exact_of(plain_number(value)), dtype)


def elements(
    body: Body, node: ast.expr | None, dtype: AlloType, shape: tuple[int, ...], at: ast.AST
) -> list[Any]:
    """The first elements of a stateful variable: a constant, or zero."""
    if node is None:
        return _started(body, 0, dtype, shape, at)
    if not body.is_known(node):
        raise CompileTimeError(
            "A stateful variable must be initialized with a compile-time constant.",
            body.place(node),
        )
    value = body.evaluate(node, "The value of a stateful variable")
    return _started(body, value, dtype, shape, node)


def _started(
    body: Body, value: Any, dtype: AlloType, shape: tuple[int, ...], node: ast.AST
) -> list[Any]:
    """Raw elements from one number, a list, an array, or from the fields of a Struct."""
    if isinstance(dtype, Block):
        extents, size = (*shape, *dtype.shape), len(dtype.fields)
        if not is_number(value) and np.shape(value) == dtype.shape:
            value = np.broadcast_to(np.asarray(value), extents)
        flat = _started(body, value, dtype.element, extents, node)
        return [tuple(flat[k : k + size]) for k in range(0, len(flat), size)]
    if isinstance(dtype, Struct):
        names = value.dtype.names if isinstance(value, np.ndarray | np.void) else value
        if is_number(value) and value == 0:
            value = dict.fromkeys(dtype.fields, 0)
        elif not isinstance(names, tuple | dict) or set(names) != set(dtype.fields):
            raise TypeMismatchError(f"A {dtype} starts at its fields.", body.place(node))
        columns = [_started(body, value[n], kind, shape, node) for n, kind in dtype.fields.items()]
        return list(zip(*columns, strict=True))
    if is_number(value):
        return [_raw(body, value, dtype, node)] * size_of(shape)
    return converted(body, value, dtype, shape, node)
