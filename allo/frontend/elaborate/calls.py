"""Calls: built-ins, scalar mathematics, methods; whole-array functions and kernels are handed on."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable
from typing import Any

from allo.dialects.diagnostics import (
    AlloError,
    CompileTimeError,
    SourcePlace,
    TypeMismatchError,
    UnsupportedSyntaxError,
)
from allo.dialects.types import AlloType, Fixed, Float, float32, int32

from ..capture import MISSING
from ..rules import fixed
from ..rules import operations as ops
from ..tree import (
    Binary,
    Compare,
    Const,
    Effect,
    Expr,
    Math,
    Select,
)
from . import expressions, streams, subscripts
from .arrays import lazy as arrays
from .arrays import requests, tensors
from .arrays.lazy import ArrayValue, Value
from .context import FunctionContext, NestedFunction
from .functions import instances as functions
from .functions import kernel_calls

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


def call(ctx: FunctionContext, node: ast.Call) -> Value:
    """The value of a call with exactly one result."""
    values = call_values(ctx, node)
    if len(values) == 1:
        return values[0]
    what = ast.unparse(node.func)
    if not values:
        raise expressions.type_error(
            ctx,
            node,
            f"{what} returns nothing; it cannot be used as a value.",
            "call it on a line of its own.",
        )
    raise expressions.type_error(
        ctx,
        node,
        f"{what} returns {len(values)} values; one is needed here.",
        "assign them first: a, b = f(x).",
    )


def statement(ctx: FunctionContext, node: ast.Call) -> None:
    """A call on a line of its own."""
    if streams.put_statement(ctx, node):
        return
    if isinstance(node.func, ast.Name) and node.func.id == "print" and _is_print(ctx):
        _print(ctx, node)
        return
    call_values(ctx, node)


def call_values(ctx: FunctionContext, node: ast.Call) -> list[Value]:
    """All results of a call."""
    for argument in node.args:
        if isinstance(argument, ast.Starred):
            raise expressions.unsupported_node(ctx, argument)
    handled = _method(ctx, node)
    if handled is not None:
        return handled
    function, template = _callee(ctx, node.func)
    if isinstance(function, NestedFunction):
        return kernel_calls.user_call(ctx, node, function, template)
    if hasattr(function, "__allo_dsl__"):
        return [_dsl(ctx, node, function)]
    built_in = _BUILT_INS.get(function) if _hashable(function) else None
    if built_in is not None:
        return [built_in(ctx, node)]
    if functions.is_external(function):
        return kernel_calls.external_call(ctx, node, function)
    if functions.is_kernel(function):
        return kernel_calls.user_call(ctx, node, function, template)
    return [_compile_time(ctx, node, function)]


def _hashable(value: Any) -> bool:
    return getattr(value, "__hash__", None) is not None


def _callee(ctx: FunctionContext, func: ast.expr) -> tuple[Any, ast.expr | None]:
    """The function a call names, and the expression in its template brackets."""
    template: ast.expr | None = None
    if isinstance(func, ast.Subscript):
        template = func.slice
        func = func.value
    if isinstance(func, ast.Name):
        found = ctx.find(func.id)
        if isinstance(found, NestedFunction):
            return found, template
    if isinstance(func, (ast.Name, ast.Attribute)):
        name = ast.unparse(func)
        try:
            return ctx.constant(func, f"The function {name}"), template
        except CompileTimeError:
            raise
        except AlloError as error:
            raise UnsupportedSyntaxError(
                f"Unsupported function call {name}: no such function is known here.",
                ctx.place(func),
                help=error.help,
            ) from None
    raise ctx.unsupported(func, f"Unsupported function call {ast.unparse(func)}.")


# --- methods ---------------------------------------------------------------------------------------


def _method(ctx: FunctionContext, node: ast.Call) -> list[Value] | None:
    """``x.reverse()``, ``A.T()``, ``s.get()``; None when the call is not of a value's method."""
    func = node.func
    if not isinstance(func, ast.Attribute):
        return None
    streamed = streams.method(ctx, node)
    if streamed is not None:
        return streamed
    if _is_object(ctx, func.value):
        return None
    if func.attr in subscripts.METHODS:
        if node.args or node.keywords:
            raise ctx.unsupported(node, f".{func.attr}() takes no arguments.")
        return [subscripts.method(ctx, func)]
    raise expressions.type_error(
        ctx,
        func,
        f"Unsupported function call or attribute method `.{func.attr}`.",
        f"values have {', '.join('.' + m for m in subscripts.METHODS)}.",
    )


def _is_object(ctx: FunctionContext, node: ast.expr) -> bool:
    """Whether the owner of an attribute is a module or other Python object."""
    root = node
    while isinstance(root, (ast.Attribute, ast.Subscript)):
        root = root.value
    if not isinstance(root, ast.Name) or ctx.find(root.id) is not None:
        return False
    value = ctx.try_constant(node)
    if value is MISSING:
        ctx.constant(node, "The object of this call")
    return not isinstance(value, (int, float)) and not hasattr(value, "__array_interface__")


# --- built-ins ----------------------------------------------------------------------------------------


def _arguments(ctx: FunctionContext, node: ast.Call, count: int, name: str) -> list[Value]:
    if node.keywords or len(node.args) != count:
        noun = "argument" if count == 1 else "arguments"
        raise expressions.type_error(
            ctx, node, f"{name}() takes {count} {noun}, not {len(node.args) + len(node.keywords)}."
        )
    return expressions.ordered(ctx, node.args)


def _cast_to(dtype: AlloType, name: str) -> Callable[[FunctionContext, ast.Call], Value]:
    def convert(ctx: FunctionContext, node: ast.Call) -> Value:
        value = _arguments(ctx, node, 1, name)[0]
        place = ctx.place(node)
        if isinstance(value, ArrayValue):
            return arrays.cast_array(value, dtype, place)
        return ops.cast(value, dtype, place)

    return convert


def _min_max(op: str) -> Callable[[FunctionContext, ast.Call], Value]:
    def compute(ctx: FunctionContext, node: ast.Call) -> Value:
        if len(node.args) < 2 or node.keywords:
            raise expressions.type_error(ctx, node, f"{op}() takes two or more values.")
        values = expressions.ordered_scalars(ctx, node.args)
        return ops.min_max(ctx.rules, op, values, ctx.place(node))

    return compute


def _absolute(ctx: FunctionContext, node: ast.Call) -> Value:
    value = _arguments(ctx, node, 1, "abs")[0]
    return each(ctx, value, lambda v: absolute(ctx, v, ctx.place(node)), ctx.place(node))


def absolute(ctx: FunctionContext, value: Expr, place: SourcePlace) -> Expr:
    """``abs(x)`` in x's type."""
    ops.refuse_unsupported(value.dtype, place)
    if isinstance(value.dtype, Float):
        return Math(value.dtype, place, "absf", (value,))
    if isinstance(value.dtype, Fixed):
        number = fixed.raw(value)
        return fixed.of_raw(absolute(ctx, number, place), value.dtype, place)
    if not ops.is_signed(value.dtype):
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
        raise expressions.type_error(ctx, node, "len() is for arrays.")
    return ops.literal(value.shape[0], ctx.place(node))


def _is_print(ctx: FunctionContext) -> bool:
    return ctx.find("print") is None and ctx.captured("print") is print


def _print(ctx: FunctionContext, node: ast.Call) -> None:
    if node.keywords:
        raise ctx.unsupported(node.keywords[0].value, "print in a kernel takes no keywords.")
    text: list[str] = []
    shown: list[ast.expr] = []
    for argument in node.args:
        if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
            text.append(argument.value.replace("{", "{{").replace("}", "}}"))
        else:
            shown.append(argument)
            text.append("{}")
    operands = expressions.ordered_scalars(ctx, shown)
    ctx.emit(Effect(ctx.place(node), "print", tuple(operands), " ".join(text)))


_BUILT_INS: dict[Any, Callable[[FunctionContext, ast.Call], Value]] = {
    int: _cast_to(int32, "int"),
    float: _cast_to(float32, "float"),
    min: _min_max("min"),
    max: _min_max("max"),
    abs: _absolute,
    len: _length,
}


def _compile_time(ctx: FunctionContext, node: ast.Call, function: Any) -> Value:
    """A Python function of compile-time arguments, or a type used as a cast."""
    if isinstance(function, AlloType):
        return _cast_to(function, function.name)(ctx, node)
    name = ast.unparse(node.func)
    if not callable(function):
        raise expressions.type_error(ctx, node, f"{name} is not a function.")
    value = ctx.try_constant(node)
    if value is MISSING:
        _math_hint(ctx, node, function)
        raise UnsupportedSyntaxError(
            f"Unsupported function call {name}: it is not a kernel.",
            ctx.place(node),
            help="a kernel can call functions with annotated arguments and allo's own functions; "
            "other Python functions only with compile-time arguments.",
        )
    if isinstance(value, AlloType):
        raise expressions.type_error(ctx, node, f"{name}(...) is a type; it has no value here.")
    return expressions.captured_value(ctx, node, name, value)


def _math_hint(ctx: FunctionContext, node: ast.Call, function: Any) -> None:
    name = getattr(function, "__name__", "")
    if name in MATH_FUNCTIONS and getattr(math, name, None) is function:
        raise UnsupportedSyntaxError(
            f"Unsupported function call math.{name} of a run-time value.",
            ctx.place(node),
            help=f"use allo.{name}.",
        )


# --- allo's functions -------------------------------------------------------------------------------


def _dsl(ctx: FunctionContext, node: ast.Call, dsl_function: Any) -> Value:
    name = dsl_function.__allo_dsl__
    function = MATH_FUNCTIONS.get(name)
    if name not in ("power", "abs") and function is None:
        return tensors.dsl_call(ctx, node, dsl_function)
    request = requests.bind(ctx, node, dsl_function)
    values = expressions.ordered(ctx, list(request.nodes.values()))
    place = ctx.place(node)
    if name == "power":
        return request.named(expressions.apply_binary(ctx, "**", values[0], values[1], place))
    if function is None:
        return request.named(each(ctx, values[0], lambda v: absolute(ctx, v, place), place))
    return request.named(each(ctx, values[0], lambda v: scalar_math(v, function, place), place))


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
