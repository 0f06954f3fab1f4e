"""Python's functions in a kernel, and those of mathematics."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from allo.dialects.diagnostics import SourcePlace, TypeMismatchError
from allo.dialects.types import AlloType, Fixed, Float, float32, int32
from allo.frontend.elaborate import dispatch
from allo.frontend.elaborate.arrays import lazy as arrays
from allo.frontend.elaborate.arrays.lazy import ArrayValue, Value
from allo.frontend.elaborate.context import FunctionContext
from allo.frontend.elaborate.expressions.order import ordered, ordered_scalars
from allo.frontend.rules import fixed
from allo.frontend.rules import operations as ops
from allo.frontend.rules.bit_fields import population_count
from allo.frontend.rules.integers import is_signed
from allo.frontend.tree import Binary, Compare, Const, Expr, Math, Select

MATH_FUNCTIONS = {
    "exp": "exp",
    "log": "log",
    "log2": "log2",
    "log10": "log10",
    "sqrt": "sqrt",
    "sin": "sin",
    "cos": "cos",
    "tan": "tan",
    "tanh": "tanh",
    "erf": "erf",
    "rsqrt": "rsqrt",
}


def _arguments(ctx: FunctionContext, node: ast.Call, count: int, name: str) -> list[Value]:
    if node.keywords or len(node.args) != count:
        noun = "argument" if count == 1 else "arguments"
        raise dispatch.type_error(
            ctx, node, f"{name}() takes {count} {noun}, not {len(node.args) + len(node.keywords)}."
        )
    return ordered(ctx, node.args)


def cast_to(dtype: AlloType, name: str) -> Callable[[FunctionContext, ast.Call], Value]:
    """The handler of a call that casts: ``int8(x)``."""

    def convert(ctx: FunctionContext, node: ast.Call) -> Value:
        value = _arguments(ctx, node, 1, name)[0]
        place = ctx.place(node)
        if isinstance(value, ArrayValue):
            return arrays.cast_array(value, dtype, place)
        return ops.converted(value, dtype, place)

    return convert


def _min_max(op: str) -> Callable[[FunctionContext, ast.Call], Value]:
    def compute(ctx: FunctionContext, node: ast.Call) -> Value:
        if len(node.args) < 2 or node.keywords:
            raise dispatch.type_error(ctx, node, f"{op}() takes two or more values.")
        values = ordered_scalars(ctx, node.args)
        return ops.min_max(ctx.rules, op, values, ctx.place(node))

    return compute


def _absolute(ctx: FunctionContext, node: ast.Call) -> Value:
    value = _arguments(ctx, node, 1, "abs")[0]
    return each(ctx, value, lambda v: absolute(ctx, v, ctx.place(node)), ctx.place(node))


def absolute(ctx: FunctionContext, value: Expr, place: SourcePlace) -> Expr:
    """``abs(x)`` in x's type."""
    ops.refuse_unsupported(value.dtype, place)
    if isinstance(value, Const) and value.literal:
        size = abs(value.value)
        whole = isinstance(size, int)
        return ops.literal(size, place) if whole else Const(value.dtype, place, size, literal=True)
    if isinstance(value.dtype, Float):
        return Math(value.dtype, place, "absf", (value,))
    if isinstance(value.dtype, Fixed):
        number = fixed.raw(value)
        return fixed.of_raw(absolute(ctx, number, place), value.dtype, place)
    if not is_signed(value.dtype):
        return value
    zero = Const(value.dtype, place, 0)
    negative = Compare(ops.BOOL, place, "<", value, zero)
    return Select(value.dtype, place, negative, Binary(value.dtype, place, "-", zero, value), value)


def each(
    ctx: FunctionContext, value: Value, compute: Callable[[Expr], Expr], place: SourcePlace
) -> Value:
    """``compute`` on a scalar, or on every element."""
    if isinstance(value, ArrayValue):
        return arrays.elementwise([value], lambda v: compute(v[0]), place, "Cannot apply")
    return compute(value)


def _length(ctx: FunctionContext, node: ast.Call) -> Value:
    value = _arguments(ctx, node, 1, "len")[0]
    if not isinstance(value, ArrayValue):
        raise dispatch.type_error(ctx, node, "len() is for arrays.")
    return ops.literal(value.shape[0], ctx.place(node))


BUILT_INS: dict[Any, Callable[[FunctionContext, ast.Call], Value]] = {
    int: cast_to(int32, "int"),
    float: cast_to(float32, "float"),
    min: _min_max("min"),
    max: _min_max("max"),
    abs: _absolute,
    len: _length,
}


def scalar_function(ctx: FunctionContext, name: str) -> Callable[[Expr, SourcePlace], Expr] | None:
    """What a function of ``allo`` makes of one scalar; None for a function of another kind."""
    if name == "abs":
        return lambda value, place: absolute(ctx, value, place)
    if name == "popcount":
        return population_count
    function = MATH_FUNCTIONS.get(name)
    if function is None:
        return None
    return lambda value, place: scalar_math(value, function, place)


def scalar_math(value: Expr, function: str, place: SourcePlace) -> Expr:
    """A function of the math dialect; an integer constant becomes float32 first."""
    if isinstance(value, Const) and not isinstance(value.dtype, Float):
        value = ops.cast(value, float32)
    if not isinstance(value.dtype, Float):
        raise TypeMismatchError(
            f"allo.{function} needs a float, not {value.dtype}.",
            place,
            help="convert it first: float(x).",
        )
    return Math(value.dtype, place, function, (value,))
