"""Expressions: a syntax tree becomes a typed scalar expression or a lazy array value."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, get_args

import numpy as np

from allo.dialects.diagnostics import (
    AlloError,
    ShapeMismatchError,
    SourcePlace,
    TypeMismatchError,
    UnsupportedSyntaxError,
)
from allo.dialects.types import AlloType

from ..capture import MISSING
from ..rules import operations as ops
from ..tree import ArgValue, Compute, Computed, Const, Expr, IndexValue, Load, ScalarArg, Var
from . import calls, globals_, guards, indexing, subscripts
from .arrays import lazy as arrays
from .arrays.lazy import ArrayValue, Value
from .context import (
    ConstBinding,
    FunctionContext,
    IterBinding,
    NestedFunction,
    StreamBinding,
    StructBinding,
)

BINARY_SYMBOLS: dict[type[ast.operator], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
    ast.LShift: "<<",
    ast.RShift: ">>",
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.BitXor: "^",
}
COMPARE_SYMBOLS: dict[type[ast.cmpop], str] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
}
UNARY_SYMBOLS: dict[type[ast.unaryop], str] = {
    ast.USub: "-",
    ast.UAdd: "+",
    ast.Invert: "~",
    ast.Not: "not",
}


_EXPRESSIONS = get_args(Expr)


def expression(ctx: FunctionContext, node: ast.expr) -> Value:
    """The value of an expression.

    Raises:
        UnsupportedSyntaxError: when the construct has no meaning in a kernel.
    """
    handler = _HANDLERS.get(type(node))
    if handler is None:
        raise unsupported_node(ctx, node)
    return handler(ctx, node)


def scalar(ctx: FunctionContext, node: ast.expr) -> Expr:
    """The value of an expression that must be a scalar."""
    return as_scalar(ctx, node, expression(ctx, node))


def as_scalar(ctx: FunctionContext, node: ast.expr, value: Value) -> Expr:
    """The value of ``node``, which must be a scalar."""
    if not isinstance(value, ArrayValue):
        return value
    if value.shape in ((), (1,)):
        return value.element((arrays.constant(0),) * len(value.shape))
    raise type_error(
        ctx,
        node,
        f"A scalar is needed here, but {ast.unparse(node)} is an array of shape "
        f"{arrays.show(value.shape)}.",
        "give an index for every dimension.",
    )


def type_error(
    ctx: FunctionContext, node: ast.AST, message: str, help: str | None = None
) -> TypeMismatchError:
    return TypeMismatchError(message, ctx.place(node), help=help)


_REMEDIES = {
    "Lambda": "define a nested function with annotated arguments.",
    "ListComp": "write the loop out, or compute the list outside the kernel.",
    "GeneratorExp": "write the loop out.",
    "JoinedStr": "strings exist only as names and in print.",
    "NamedExpr": "assign on a line of its own.",
    "Await": None,
    "Try": "a kernel has no exceptions.",
    "Raise": "a kernel has no exceptions.",
    "Global": "pass the variable as an argument, or make it `@ Stateful`.",
    "Nonlocal": "pass the variable as an argument, or make it `@ Stateful`.",
    "Import": "import outside the kernel.",
    "ImportFrom": "import outside the kernel.",
    "Delete": "a name ends with its block.",
    "ClassDef": "define it outside the kernel.",
    "Starred": "write the arguments out.",
    "Match": "use if / elif.",
}


def unsupported_node(ctx: FunctionContext, node: ast.AST) -> AlloError:
    """The error for syntax that has no meaning in a kernel."""
    kind = type(node).__name__
    return UnsupportedSyntaxError(
        f'Unsupported node "{kind}": it has no meaning in a kernel.',
        ctx.place(node),
        help=_REMEDIES.get(kind),
    )


# --- names and constants ---------------------------------------------------------------------


def _constant(ctx: FunctionContext, node: ast.Constant) -> Value:
    value = node.value
    if isinstance(value, (bool, int, float)):
        return ops.literal(int(value) if isinstance(value, bool) else value, ctx.place(node))
    raise type_error(
        ctx,
        node,
        f"{value!r} is not a value a kernel can compute with.",
        "only integers and floats are.",
    )


def _name(ctx: FunctionContext, node: ast.Name) -> Value:
    place = ctx.place(node)
    found = ctx.find(node.id)
    if isinstance(found, Var):
        return variable(found, place)
    if isinstance(found, IterBinding):
        return _iterator(found, place)
    if isinstance(found, ScalarArg):
        return ArgValue(found.dtype, place, found)
    if isinstance(found, ConstBinding):
        value = captured_value(ctx, node, node.id, found.value)
        return value if found.dtype is None else _declared_constant(value, found.dtype)
    if isinstance(found, NestedFunction):
        raise type_error(ctx, node, f"{node.id} is a function; call it.")
    if isinstance(found, StreamBinding):
        raise type_error(
            ctx, node, f"{node.id} is a stream.", f"use {node.id}.get() or {node.id}.put(value)."
        )
    if isinstance(found, StructBinding):
        raise type_error(
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
    return value if isinstance(value, ArrayValue) else ops.cast(value, dtype)


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
        raise type_error(ctx, node, f"{name} is a type; it has no value here.")
    raise type_error(
        ctx,
        node,
        f"Unsupported global variable: {name} is {type(value).__name__} {value!r:.60}.",
        f"give it a type: 't: T[…] = {name}' declares a constant array."
        if isinstance(value, list)
        else "a kernel can use captured integers, floats, NumPy arrays, types and functions.",
    )


# --- operators ----------------------------------------------------------------------------------


def ordered_pair(ctx: FunctionContext, left: ast.expr, right: ast.expr) -> tuple[Value, Value]:
    """Both operands, the left evaluated first even where the right one calls a function."""
    a, b = ordered(ctx, [left, right])
    return a, b


def ordered(ctx: FunctionContext, nodes: Sequence[ast.expr]) -> list[Value]:
    """Values evaluated from left to right: each as it is before the next one calls a function."""
    return in_order(ctx, [partial(expression, ctx, node) for node in nodes])


def ordered_scalars(ctx: FunctionContext, nodes: Sequence[ast.expr]) -> list[Expr]:
    """The same for expressions that must be scalars."""
    return in_order(ctx, [partial(scalar, ctx, node) for node in nodes])


def in_order[T](ctx: FunctionContext, steps: Sequence[Callable[[], T]]) -> list[T]:
    """What the steps give; scalars among it are read before the statements of later steps."""
    values: list[T] = []
    marks: list[int] = []
    for step in steps:
        mark = len(ctx.block)
        values.append(step())
        if len(ctx.block) > mark:
            _settle(ctx, values, marks)
        marks.append(len(ctx.block))
    return values


def _settle(ctx: FunctionContext, values: list[Any], marks: list[int]) -> None:
    """Compute the values before the last where each one stood, behind their own statements."""
    for number in reversed(range(len(marks))):
        if not isinstance(values[number], _EXPRESSIONS):
            continue
        size = len(ctx.block)
        values[number] = computed_before(ctx, marks[number], values[number])
        grown = len(ctx.block) - size
        marks[number:] = [mark + grown for mark in marks[number:]]


def computed_before(ctx: FunctionContext, mark: int, value: Expr) -> Expr:
    """``value`` as it was before the statements from ``mark`` on."""
    if not reads_storage(value):
        return value
    statement = Compute(value.place, value)
    ctx.block.insert(mark, statement)
    return Computed(value.dtype, value.place, statement)


def reads_storage(value: Expr) -> bool:
    """Whether statements may change what an expression gives."""
    return not isinstance(value, (Const, IndexValue, ArgValue, Computed))


def _binary(ctx: FunctionContext, node: ast.BinOp) -> Value:
    symbol = BINARY_SYMBOLS.get(type(node.op))
    if symbol is None:
        return _matmul(ctx, node)
    lhs, rhs = ordered_pair(ctx, node.left, node.right)
    return apply_binary(ctx, symbol, lhs, rhs, ctx.place(node))


def apply_binary(
    ctx: FunctionContext, symbol: str, lhs: Value, rhs: Value, place: SourcePlace
) -> Value:
    """``lhs symbol rhs``, element-wise when a side is an array."""
    operate = ops.shift if symbol in ("<<", ">>") else ops.binary
    if isinstance(lhs, ArrayValue) or isinstance(rhs, ArrayValue):
        return arrays.elementwise(
            [lhs, rhs],
            lambda v: operate(ctx.rules, symbol, v[0], v[1], place),
            place,
            f"Cannot apply {symbol!r}",
        )
    return operate(ctx.rules, symbol, lhs, rhs, place)


def _matmul(ctx: FunctionContext, node: ast.BinOp) -> Value:
    from .arrays import reductions

    lhs, rhs = ordered_pair(ctx, node.left, node.right)
    return reductions.matmul_operator(ctx, [lhs, rhs], ctx.place(node))


def _unary(ctx: FunctionContext, node: ast.UnaryOp) -> Value:
    symbol = UNARY_SYMBOLS[type(node.op)]
    value = expression(ctx, node.operand)
    place = ctx.place(node)
    if isinstance(value, ArrayValue):
        return arrays.elementwise(
            [value], lambda v: ops.unary(ctx.rules, symbol, v[0], place), place, symbol
        )
    return ops.unary(ctx.rules, symbol, value, place)


def compare_symbols(ctx: FunctionContext, node: ast.Compare) -> list[str]:
    """The operators of a comparison, in order."""
    symbols = [COMPARE_SYMBOLS.get(type(op)) for op in node.ops]
    if None in symbols:
        raise unsupported_node(ctx, node)
    return [symbol for symbol in symbols if symbol is not None]


def _compare(ctx: FunctionContext, node: ast.Compare) -> Value:
    symbol = compare_symbols(ctx, node)[0]
    left, right = ordered_pair(ctx, node.left, node.comparators[0])
    if isinstance(left, ArrayValue) or isinstance(right, ArrayValue):
        return _compare_arrays(ctx, node, symbol, left, right)
    if len(node.ops) > 1:
        return guards.chain(ctx, node, left, right)
    return ops.compare(ctx.rules, symbol, left, right, ctx.place(node))


def _compare_arrays(
    ctx: FunctionContext, node: ast.Compare, symbol: str, left: Value, right: Value
) -> Value:
    if len(node.ops) > 1:
        raise ctx.unsupported(
            node, "A chained comparison of arrays is ambiguous.", "compare element by element."
        )
    place = ctx.place(node)
    return arrays.elementwise(
        [left, right],
        lambda v: ops.compare(ctx.rules, symbol, v[0], v[1], place),
        place,
        f"Cannot compare with {symbol!r}",
    )


def _list(ctx: FunctionContext, node: ast.List | ast.Tuple) -> Value:
    value = ctx.constant(node, "An array literal")
    try:
        array = np.array(value)
    except ValueError:
        array = np.array(None)
    if array.dtype == object or array.ndim == 0:
        raise ShapeMismatchError(
            "The rows of an array literal must have equal lengths.", ctx.place(node)
        )
    place = ctx.place(node)
    return arrays.whole(globals_.constant_array(ctx, array, "const", place), place)


_HANDLERS: dict[type[ast.expr], Callable[[FunctionContext, Any], Value]] = {
    ast.Constant: _constant,
    ast.Name: _name,
    ast.BinOp: _binary,
    ast.UnaryOp: _unary,
    ast.Compare: _compare,
    ast.BoolOp: lambda ctx, node: guards.logic(ctx, node),
    ast.IfExp: lambda ctx, node: guards.choice(ctx, node),
    ast.List: _list,
    ast.Tuple: _list,
    ast.Call: lambda ctx, node: calls.call(ctx, node),
    ast.Subscript: lambda ctx, node: subscripts.read(ctx, node),
    ast.Attribute: lambda ctx, node: subscripts.attribute(ctx, node),
}

__all__ = ["apply_binary", "expression", "indexing", "scalar", "variable"]
