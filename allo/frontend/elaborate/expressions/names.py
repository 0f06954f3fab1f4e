"""Names and constants as values."""

from __future__ import annotations

import ast
from typing import Any

import numpy as np

from allo.dialects.diagnostics import ShapeMismatchError, SourcePlace
from allo.dialects.types import AlloType
from allo.frontend.affine import ScalarArg
from allo.frontend.capture import MISSING
from allo.frontend.elaborate import dispatch, globals_
from allo.frontend.elaborate.arrays import lazy as arrays
from allo.frontend.elaborate.arrays.lazy import ArrayValue, Value
from allo.frontend.elaborate.context import (
    ConstBinding,
    FunctionContext,
    IterBinding,
    NestedFunction,
    StreamBinding,
    StructBinding,
    ValueBinding,
)
from allo.frontend.rules import constants
from allo.frontend.rules import operations as ops
from allo.frontend.tree import ArgValue, Const, Expr, IndexValue, Load, Var


def literal(ctx: FunctionContext, node: ast.Constant) -> Value:
    """A number written in the program."""
    value = node.value
    if isinstance(value, (bool, int, float)):
        return ops.literal(int(value) if isinstance(value, bool) else value, ctx.place(node))
    raise dispatch.type_error(
        ctx,
        node,
        f"{value!r} is not a value a kernel can compute with.",
        "only integers and floats are.",
    )


def name(ctx: FunctionContext, node: ast.Name) -> Value:
    """The value that a name stands for."""
    place = ctx.place(node)
    found = ctx.find(node.id)
    if isinstance(found, Var):
        return variable(found, place)
    if isinstance(found, IterBinding):
        return _iterator(found, place)
    if isinstance(found, ScalarArg):
        return ArgValue(found.dtype, place, found)
    if isinstance(found, ValueBinding):
        return found.value
    if isinstance(found, ConstBinding):
        value = captured_value(ctx, node, node.id, found.value)
        return value if found.dtype is None else _declared_constant(value, found.dtype)
    if isinstance(found, NestedFunction):
        raise dispatch.type_error(ctx, node, f"{node.id} is a function; call it.")
    if isinstance(found, StreamBinding):
        raise dispatch.type_error(
            ctx, node, f"{node.id} is a stream.", f"use {node.id}.get() or {node.id}.put(value)."
        )
    if isinstance(found, StructBinding):
        raise dispatch.type_error(
            ctx,
            node,
            f"{node.id} is a Struct; it has no value as a whole here.",
            f'read a field: {node.id}["{next(iter(found.fields))}"].',
        )
    value = ctx.captured(node.id)
    if value is MISSING:
        raise ctx.unknown_name(node, node.id)
    return captured_value(ctx, node, node.id, value)


def _declared_constant(value: Value, dtype: AlloType) -> Value:
    """A ConstExpr has the type it was declared with, as a variable has: it is no literal."""
    if isinstance(value, ArrayValue):
        return value
    typed = ops.cast(value, dtype)
    if isinstance(typed, Const) and typed.literal:
        return constants.cast(typed, dtype)
    return typed


def variable(var: Var, place: SourcePlace) -> Value:
    """A variable read: an element load for a scalar, a view for an array."""
    if var.shape == ():
        return Load(var.dtype, place, var, ())
    return arrays.whole(var, place)


def _iterator(binding: IterBinding, place: SourcePlace) -> Expr:
    return IndexValue(ops.INDEX, place, binding.value)


def captured_value(ctx: FunctionContext, node: ast.AST, name: str, value: Any) -> Value:
    """A Python value met in an expression: a number, or an array that becomes a constant."""
    place = ctx.place(node)
    if isinstance(value, (bool, np.bool_)):
        return ops.literal(int(value), place)
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, (int, float)):
        return ops.literal(value, place)
    if isinstance(value, np.ndarray):
        if value.ndim == 0:
            return ops.literal(value.item(), place)
        return arrays.whole(globals_.constant_array(ctx, value, name, place), place)
    if isinstance(value, AlloType):
        raise dispatch.type_error(ctx, node, f"{name} is a type; it has no value here.")
    raise dispatch.type_error(
        ctx,
        node,
        f"Unsupported global variable: {name} is {type(value).__name__} {value!r:.60}.",
        f"give it a type: 't: T[…] = {name}' declares a constant array."
        if isinstance(value, list)
        else "a kernel can use captured integers, floats, NumPy arrays, types and functions.",
    )


def array_literal(ctx: FunctionContext, node: ast.List | ast.Tuple) -> Value:
    """Numbers written out: a constant array."""
    value = ctx.constant(node, "An array literal")
    try:
        array = np.array(value)
    except ValueError:
        array = np.array(None)
    if array.dtype == object or array.ndim == 0:
        raise ShapeMismatchError(
            "The rows of an array literal must have equal lengths.",
            ctx.place(node),
            help="give every row as many elements as the first.",
        )
    place = ctx.place(node)
    return arrays.whole(globals_.constant_array(ctx, array, "const", place), place)
