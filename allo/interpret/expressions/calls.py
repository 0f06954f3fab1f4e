"""Calls: casts, built-in functions, the functions of ``allo``, methods and other kernels."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from allo.dialects.diagnostics import (
    CompileTimeError,
    DataflowError,
    TypeMismatchError,
    UnsupportedSyntaxError,
)
from allo.dialects.types import AlloType, Float, Index, float16, float32, float64

from ..body import Body
from ..known import Known, LocalFunction, as_type, is_kernel
from ..rules import int_type, is_fixed, is_integer
from ..running import elementary
from ..running.casts import width, wrap_code
from ..statements import processes
from . import external, tensor_calls, tensors
from .meaning import cast, known_call
from .scalars import absolute, binary, coerce, extreme
from .values import Value, literal

INT32 = int_type(32, True)


def call(body: Body, node: ast.Call) -> Value:
    """The value of a call."""
    if isinstance(node.func, ast.Attribute):
        method = _method(body, node, node.func)
        if method is not None:
            return method
    function, template = called(body, node)
    name = getattr(function, "__allo_dsl__", None)
    if name is not None:
        return _dsl(body, name, node)
    if getattr(function, "__allo_stream__", False):
        return processes.gather_or_scatter(body, function.__name__, node)
    dtype = as_type(function)
    if isinstance(function, type) and function in (int, float, bool) or dtype is not None:
        return _cast_call(body, dtype or INT32, node)
    builtin = _BUILTINS.get(function) if _hashable(function) else None
    if builtin is not None:
        return builtin(body, node)
    if external.is_external(function):
        return external.call(body, function, node)
    if is_kernel(function):
        return body.program.language.call(body, function, template, node)
    if callable(function):
        return known_call(body, node, function)
    raise UnsupportedSyntaxError(f"{ast.unparse(node.func)!r} cannot be called.", body.place(node))


def _hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


def called(body: Body, node: ast.Call) -> tuple[Any, list[ast.expr] | None]:
    """The object that is called, and its template arguments."""
    func = node.func
    template = None
    if isinstance(func, ast.Subscript):
        template = list(func.slice.elts) if isinstance(func.slice, ast.Tuple) else [func.slice]
        func = func.value
    return body.evaluate(func, "The function called"), template


def _method(body: Body, node: ast.Call, func: ast.Attribute) -> Value | None:
    """A method of a stream or of a value; None where the attribute is a function of a module."""
    stream = processes.stream_of(body, func.value)
    if stream is not None:
        return processes.method(body, stream, func, node)
    if body.is_known(func) and func.attr not in ("reverse", "bitcast", "copy", "T"):
        return None
    if body.is_known(func) and hasattr(body.evaluate(func.value, "A value"), func.attr):
        root = body.evaluate(func.value, "A value")
        if not hasattr(root, "dtype") and not isinstance(root, (int, float)):
            return None
    if func.attr in ("put", "get", *processes.TRIES):
        raise TypeMismatchError(f"{ast.unparse(func.value)!r} is no stream.", body.place(node))
    value = body.expression(func.value)
    if func.attr == "reverse":
        return reverse(body, value, node)
    if func.attr == "bitcast":
        return bitcast(body, value, node) if not node.args else _bits_as(body, value, node)
    if func.attr == "copy" and value.is_array:
        return copy(body, value)
    if func.attr == "T" and value.is_array:
        return tensors.transposed(body, value, None, node)
    raise UnsupportedSyntaxError(
        f"The method {func.attr!r} has no meaning in a kernel.", body.place(node)
    )


def arguments(body: Body, node: ast.Call, name: str, count: int) -> list[Value]:
    """The values of a fixed number of positional arguments."""
    given = [k for k in node.keywords if k.arg != "name"]
    if len(node.args) != count or given:
        raise TypeMismatchError(
            f"{name} takes {count} argument{'s' * (count != 1)}, not {len(node.args)}.",
            body.place(node),
        )
    return [body.expression(argument) for argument in node.args]


def _cast_call(body: Body, dtype: AlloType, node: ast.Call) -> Value:
    (value,) = arguments(body, node, str(dtype), 1)
    return cast_value(body, value, dtype, node)


def cast_value(body: Body, value: Value, dtype: AlloType, node: ast.AST) -> Value:
    """A value, or every element, cast."""
    if value.is_array:
        return tensors.broadcast(body, lambda a: cast_value(body, a, dtype, node), node, value)
    return Value(dtype, cast(body, value, dtype, node))


def reverse(body: Body, value: Value, node: ast.AST) -> Value:
    """``x.reverse()``: the bits in the other order, in the same type."""
    if not is_integer(value.dtype) or value.is_array:
        raise TypeMismatchError("Only an integer has bits to reverse.", body.place(node))
    bits = width(value.dtype)
    code = f"reverse_bits({coerce(value, value.dtype)}, {bits})"
    return Value(value.dtype, wrap_code(code, value.dtype))


def bitcast(body: Body, value: Value, node: ast.AST) -> Value:
    """``x.bitcast()``: an integer as the float of its width, anything else as an integer."""
    dtype = value.dtype
    if value.is_array:
        return tensors.broadcast(body, lambda a: bitcast(body, a, node), node, value)
    code = coerce(value, dtype)
    if isinstance(dtype, Float):
        return Value(int_type(dtype.bits, False), f"to_bits({code}, type_of({dtype.name!r}))")
    if is_fixed(dtype):
        return Value(int_type(dtype.bits, dtype.name.startswith("fixed")), code)
    target = {16: float16, 32: float32, 64: float64}.get(width(dtype))
    if target is None or isinstance(dtype, Index):
        raise TypeMismatchError(
            f"There is no float of {width(dtype)} bits to read {dtype} as.", body.place(node)
        )
    return Value(target, f"from_bits({code}, type_of({target.name!r}))")


def _bits_as(body: Body, value: Value, node: ast.Call) -> Value:
    """``x.bitcast(T)``: the bits of a value as a type of as many bits."""
    dtype = as_type(body.evaluate(node.args[0], "The type in .bitcast"))
    formed = (dtype is not None and (is_integer(dtype) or is_fixed(dtype))) or isinstance(
        dtype, Float
    )
    if dtype is None or not formed or isinstance(dtype, Index) or isinstance(value.dtype, Index):
        raise TypeMismatchError("Only numbers have bits to read.", body.place(node))
    if width(dtype) != width(value.dtype):
        raise TypeMismatchError(
            f"bitcast keeps every bit, and {value.dtype} and {dtype} differ in width.",
            body.place(node),
        )
    code = coerce(value, value.dtype)
    if isinstance(value.dtype, Float):
        code = f"to_bits({code}, type_of({value.dtype.name!r}))"
    if isinstance(dtype, Float):
        code = wrap_code(code, int_type(dtype.bits, False))
        return Value(dtype, f"from_bits({code}, type_of({dtype.name!r}))")
    return Value(dtype, wrap_code(code, dtype))


def copy(body: Body, value: Value) -> Value:
    """A new array of the same elements."""
    del body
    return Value(value.dtype, f"{value.array_code()}.copy()", shape=value.shape)


# --- built-in functions --------------------------------------------------------------------------


def _extreme(name: str) -> Callable[[Body, ast.Call], Value]:
    def extreme_call(body: Body, node: ast.Call) -> Value:
        if len(node.args) < 2 or node.keywords:
            raise TypeMismatchError(f"{name} takes two arguments.", body.place(node))
        values = [body.expression(argument) for argument in node.args]
        total = values[0]
        for value in values[1:]:
            total = _pick(body, name, total, value, node)
        return total

    return extreme_call


def _pick(body: Body, name: str, left: Value, right: Value, node: ast.AST) -> Value:
    if left.is_array or right.is_array:
        return tensors.broadcast(
            body, lambda a, b: _pick(body, name, a, b, node), node, left, right
        )
    found = extreme(name, left, right)
    if found is None:
        raise TypeMismatchError(
            f"No rule gives {name} of {left.dtype} and {right.dtype} a type.", body.place(node)
        )
    return found


def _absolute(body: Body, node: ast.Call) -> Value:
    (value,) = arguments(body, node, "abs", 1)
    return absolute_of(body, value, node)


def absolute_of(body: Body, value: Value, node: ast.AST) -> Value:
    """``abs`` of a value, or of every element."""
    if value.is_array:
        return tensors.broadcast(body, lambda a: absolute_of(body, a, node), node, value)
    return absolute(value)


def _length(body: Body, node: ast.Call) -> Value:
    if len(node.args) == 1 and body.is_known(node.args[0]):
        return literal(len(body.evaluate(node.args[0], "The argument of len")))
    (value,) = arguments(body, node, "len", 1)
    if not value.shape:
        raise TypeMismatchError("len takes an array.", body.place(node))
    if isinstance(value.shape[0], int):
        return literal(value.shape[0])
    return Value(INT32, str(value.shape[0]))


_BUILTINS: dict[Any, Callable[[Body, ast.Call], Value]] = {
    min: _extreme("min"),
    max: _extreme("max"),
    abs: _absolute,
    len: _length,
}


# --- the functions of allo -------------------------------------------------------------------------


def _dsl(body: Body, name: str, node: ast.Call) -> Value:
    if name == "abs":
        return _absolute(body, node)
    if name == "popcount":
        (value,) = arguments(body, node, name, 1)
        return population_count(body, value, node)
    if name in elementary.UNARY or name == "sqrt":
        (value,) = arguments(body, node, name, 1)
        return function_of(body, name, value, node)
    if name == "power":
        left, right = arguments(body, node, name, 2)
        return _power(body, left, right, node)
    if name == "get_pid":
        if body.pid is None:
            raise CompileTimeError("get_pid() has a value in a df.kernel only.", body.place(node))
        return literal(body.pid[0])
    return tensor_calls.call(body, name, node)


def population_count(body: Body, value: Value, node: ast.AST) -> Value:
    """How many bits of an integer, or of every element, are one."""
    if value.is_array:
        return tensors.broadcast(body, lambda a: population_count(body, a, node), node, value)
    if not is_integer(value.dtype):
        raise TypeMismatchError(f"popcount takes an integer, not {value.dtype}.", body.place(node))
    bits = width(value.dtype)
    code = f"({coerce(value, value.dtype)} & {(1 << bits) - 1}).bit_count()"
    return Value(int_type(bits.bit_length(), False), code)


def function_of(body: Body, name: str, value: Value, node: ast.AST) -> Value:
    """A scalar function of a float, or of every element."""
    if value.is_array:
        return tensors.broadcast(body, lambda a: function_of(body, name, a, node), node, value)
    dtype = value.dtype
    if not isinstance(dtype, Float):
        if not value.literal:
            raise TypeMismatchError(
                f"{name} takes a float, not {dtype}.",
                body.place(node),
                help="cast it first: float32(x).",
            )
        dtype = float32
    if name != "sqrt":
        body.program.inexact = True
    return Value(dtype, f"{name}_{dtype.name}({coerce(value, dtype)})")


def _power(body: Body, left: Value, right: Value, node: ast.AST) -> Value:
    if left.is_array or right.is_array:
        return tensors.broadcast(body, lambda a, b: _power(body, a, b, node), node, left, right)
    body.program.inexact = True
    found = binary("**", left, right)
    if found is None:
        raise TypeMismatchError("power takes numbers.", body.place(node))
    return found


def local_function(body: Body, node: ast.FunctionDef) -> None:
    """A function written inside a kernel.

    Raises:
        DataflowError: for a ``df.kernel``, which stands in a region.
    """
    for mark in node.decorator_list:
        if processes.last_name(mark) == "kernel":
            raise DataflowError(
                f"The df.kernel {node.name!r} does not stand in a df.region.",
                body.place(mark),
                help="put @df.region() before the function around it.",
            )
    body.bind(node.name, Known(LocalFunction(node, body.text, body.names, body.known_names())))
