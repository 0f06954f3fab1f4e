"""Calls: built-ins, scalar mathematics, methods; whole-array functions and kernels are handed on."""

from __future__ import annotations

import ast
import math
from typing import Any

from allo.dialects.diagnostics import AlloError, CompileTimeError, UnsupportedSyntaxError
from allo.dialects.types import AlloType
from allo.frontend.capture import MISSING
from allo.frontend.elaborate import dispatch, streams
from allo.frontend.elaborate.arrays import requests, tensors
from allo.frontend.elaborate.arrays.lazy import Value
from allo.frontend.elaborate.context import FunctionContext, NestedFunction
from allo.frontend.elaborate.expressions import attributes, built_ins, operators
from allo.frontend.elaborate.expressions.names import captured_value
from allo.frontend.elaborate.expressions.order import ordered, ordered_scalars
from allo.frontend.elaborate.functions import instances as functions
from allo.frontend.elaborate.functions import kernel_calls
from allo.frontend.tree import Effect


def call(ctx: FunctionContext, node: ast.Call) -> Value:
    """The value of a call with exactly one result."""
    values = call_values(ctx, node)
    if len(values) == 1:
        return values[0]
    what = ast.unparse(node.func)
    if not values:
        raise dispatch.type_error(
            ctx,
            node,
            f"{what} returns nothing; it cannot be used as a value.",
            "call it on a line of its own.",
        )
    raise dispatch.type_error(
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
    call_values(ctx, node, is_statement=True)


def call_values(ctx: FunctionContext, node: ast.Call, *, is_statement: bool = False) -> list[Value]:
    """All results of a call.

    On a line of its own a Python function that takes nothing is a kernel: what it would give is dropped.
    """
    for argument in node.args:
        if isinstance(argument, ast.Starred):
            raise dispatch.unsupported_node(ctx, argument)
    handled = _method(ctx, node)
    if handled is not None:
        return handled
    function, template = _callee(ctx, node.func)
    if isinstance(function, NestedFunction):
        return kernel_calls.user_call(ctx, node, function, template)
    if hasattr(function, "__allo_dsl__"):
        return [_dsl(ctx, node, function)]
    built_in = built_ins.BUILT_INS.get(function) if _hashable(function) else None
    if built_in is not None:
        return [built_in(ctx, node)]
    if functions.is_external(function):
        return kernel_calls.external_call(ctx, node, function)
    if functions.is_kernel(function) or (is_statement and functions.takes_nothing(function)):
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
    if isinstance(func, ast.Call) and isinstance(made := ctx.try_constant(func), AlloType):
        return made, template
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
    raise ctx.unsupported(
        func,
        f"Unsupported function call {ast.unparse(func)}.",
        "call a function of the program by its name, or one of allo's.",
    )


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
    if func.attr in attributes.METHODS:
        if node.keywords or len(node.args) > (func.attr == "bitcast"):
            takes = "one type" if func.attr == "bitcast" else "no arguments"
            raise ctx.unsupported(
                node,
                f".{func.attr}() takes {takes}.",
                "write x.bitcast(float32), x.reverse() or A.T().",
            )
        return [attributes.method(ctx, func, *node.args)]
    raise dispatch.type_error(
        ctx,
        func,
        f"Unsupported function call or attribute method `.{func.attr}`.",
        f"values have {', '.join('.' + m for m in attributes.METHODS)}.",
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


def _is_print(ctx: FunctionContext) -> bool:
    return ctx.find("print") is None and ctx.captured("print") is print


def _print(ctx: FunctionContext, node: ast.Call) -> None:
    if node.keywords:
        raise ctx.unsupported(
            node.keywords[0].value,
            "print in a kernel takes no keywords.",
            "leave sep= and end= out: each print is a line.",
        )
    texts = [""]
    shown: list[ast.expr] = []
    for position, argument in enumerate(node.args):
        texts[-1] += " " if position else ""
        if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
            texts[-1] += argument.value
        else:
            shown.append(argument)
            texts.append("")
    texts[-1] += "\n"
    operands = ordered_scalars(ctx, shown)
    ctx.emit(Effect(ctx.place(node), "print", tuple(operands), tuple(texts)))


def _compile_time(ctx: FunctionContext, node: ast.Call, function: Any) -> Value:
    """A Python function of compile-time arguments, or a type used as a cast."""
    if isinstance(function, AlloType):
        return built_ins.cast_to(function, function.name)(ctx, node)
    name = ast.unparse(node.func)
    if not callable(function):
        raise dispatch.type_error(ctx, node, f"{name} is not a function.")
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
        raise dispatch.type_error(ctx, node, f"{name}(...) is a type; it has no value here.")
    return captured_value(ctx, node, name, value)


def _math_hint(ctx: FunctionContext, node: ast.Call, function: Any) -> None:
    name = getattr(function, "__name__", "")
    if name in built_ins.MATH_FUNCTIONS and getattr(math, name, None) is function:
        raise UnsupportedSyntaxError(
            f"Unsupported function call math.{name} of a run-time value.",
            ctx.place(node),
            help=f"use allo.{name}.",
        )


def _dsl(ctx: FunctionContext, node: ast.Call, dsl_function: Any) -> Value:
    name = dsl_function.__allo_dsl__
    function = built_ins.scalar_function(ctx, name)
    if name != "power" and function is None:
        return tensors.dsl_call(ctx, node, dsl_function)
    request = requests.bind(ctx, node, dsl_function)
    values = ordered(ctx, list(request.nodes.values()))
    place = ctx.place(node)
    if name == "power":
        return request.named(operators.apply_binary(ctx, "**", values[0], values[1], place))
    assert function is not None
    return request.named(built_ins.each(ctx, values[0], lambda v: function(v, place), place))
