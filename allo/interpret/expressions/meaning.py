"""What names and numbers mean as values, and casts with a message."""

from __future__ import annotations

import ast
from fractions import Fraction
from typing import Any

import numpy as np

from allo.dialects.diagnostics import CompileTimeError, TypeMismatchError
from allo.dialects.types import AlloType, Float

from ..body import Body
from ..constants import captured_array
from ..known import Known, is_number, plain_number
from ..running.casts import convertible
from . import scalars
from .scalars import coerce
from .values import Symbol, Value, exact_of, literal, raw_code, whole_view


def read_symbol(body: Body, symbol: Symbol, node: ast.AST) -> Value:
    """The value of a variable, checked where it may be undefined."""
    if symbol.shape is not None:
        return whole_view(symbol)
    if not symbol.may_be_undefined:
        return Value(symbol.dtype, symbol.python)
    name, place = symbol.python, body.place_code(node)
    code = f"({name} if {name} is not None else undefined({place}, {symbol.name!r}))"
    return Value(symbol.dtype, code)


def known_value(body: Body, known: Known, node: ast.expr) -> Value:
    """The value of a name or expression that is known now."""
    value = known.value
    if is_number(value):
        plain = plain_number(value)
        if known.dtype is None:
            return literal(plain)
        raw = scalars.exact_to_raw(exact_of(plain), known.dtype)
        exact: Any = raw
        if isinstance(known.dtype, Float):
            exact = exact_of(raw)
        elif known.dtype.fracs:
            exact = Fraction(raw, 1 << known.dtype.fracs)
        return Value(known.dtype, raw_code(raw, known.dtype), exact=exact)
    if isinstance(value, np.ndarray):
        return captured_array(body, value, node)
    raise TypeMismatchError(
        f"{ast.unparse(node)!r} is of Python's type {type(value).__name__}, which is no value of "
        "a kernel.",
        body.place(node),
        help="capture a number or a NumPy array.",
    )


def cast(body: Body, value: Value, target: AlloType, node: ast.AST) -> str:
    """Text of a scalar cast to a type.

    Raises:
        TypeMismatchError: when no cast joins them.
    """
    if not convertible(value.dtype, target):
        raise TypeMismatchError(
            f"There is no cast from {value.dtype} to {target}.", body.place(node)
        )
    return coerce(value, target)


def known_call(body: Body, node: ast.Call, function: Any) -> Value:
    """The call of a plain Python function, made now."""
    arguments = [*node.args, *(k.value for k in node.keywords)]
    if not all(body.is_known(argument) for argument in arguments):
        raise CompileTimeError(
            f"{ast.unparse(node.func)!r} is no kernel, so its arguments must be known while "
            "compiling.",
            body.place(node),
            help="annotate its arguments to make it a kernel.",
        )
    del function
    return known_value(body, Known(body.evaluate(node, "A call")), node)
