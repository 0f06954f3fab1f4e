"""Expressions: from a syntax tree to a :class:`Value`."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from allo.dialects.diagnostics import ShapeMismatchError, TypeMismatchError, UnsupportedSyntaxError
from allo.dialects.types import Float, Struct

from .. import constants
from ..body import Body
from ..known import Known, plain_number
from ..rules import unary_type
from ..statements.streams import StreamSymbol
from . import calls, elements, scalars, tensor_calls, tensors
from .meaning import known_value, read_symbol
from .scalars import COMPARISONS, SYMBOLS, coerce, condition, truth
from .values import Symbol, Value, literal


def expression(body: Body, node: ast.expr) -> Value:
    """The translation of an expression.

    Raises:
        UnsupportedSyntaxError: Python without a meaning in a kernel.
    """
    return body.form(_FORMS, node)(body, node)


def _constant(body: Body, node: ast.Constant) -> Value:
    if not isinstance(node.value, (bool, int, float)):
        raise UnsupportedSyntaxError(
            f"The constant {node.value!r} has no meaning here.", body.place(node)
        )
    return literal(node.value)


def _name(body: Body, node: ast.Name) -> Value:
    entry = body.entry(node)
    if isinstance(entry, Symbol):
        return read_symbol(body, entry, node)
    if isinstance(entry, StreamSymbol):
        raise TypeMismatchError(
            f"{node.id!r} is a stream; put to it or get from it.", body.place(node)
        )
    return known_value(body, entry, node)


def _attribute(body: Body, node: ast.Attribute) -> Value:
    if body.is_known(node):
        return known_value(body, Known(body.evaluate(node, "An attribute")), node)
    value = body.expression(node.value)
    if node.attr == "T" and value.is_array:
        return tensors.transposed(body, value, None, node)
    if node.attr == "reverse" and not value.is_array:
        return calls.reverse(body, value, node)
    if node.attr == "copy" and value.is_array:
        return calls.copy(body, value)
    raise UnsupportedSyntaxError(
        f"The attribute {node.attr!r} has no meaning here.", body.place(node)
    )


def _binary(body: Body, node: ast.BinOp) -> Value:
    left, right = body.expression(node.left), body.expression(node.right)
    if isinstance(node.op, ast.MatMult):
        return tensor_calls.matmul(body, left, right, node)
    return operate(body, SYMBOLS[type(node.op).__name__], left, right, node)


def operate(body: Body, symbol: str, left: Value, right: Value, node: ast.AST) -> Value:
    """``left symbol right``, element by element where one is an array.

    Raises:
        TypeMismatchError: when no rule joins the types.
    """
    if left.is_array or right.is_array:
        return tensors.broadcast(
            body, lambda a, b: operate(body, symbol, a, b, node), node, left, right
        )
    found = scalars.binary(symbol, left, right)
    if found is None:
        raise TypeMismatchError(
            f"No rule gives {left.dtype} {symbol} {right.dtype} a type.", body.place(node)
        )
    if symbol == "**":
        body.program.inexact = True
    return found


def _unary(body: Body, node: ast.UnaryOp) -> Value:
    return _apply_unary(body, node.op, body.expression(node.operand), node)


def _apply_unary(body: Body, op: ast.unaryop, value: Value, node: ast.AST) -> Value:
    if value.is_array:
        return tensors.broadcast(body, lambda a: _apply_unary(body, op, a, node), node, value)
    if isinstance(op, ast.Not):
        return condition(f"(not {truth(_number(body, value, node))})")
    if isinstance(op, ast.UAdd):
        found: Value | None = value
        if value.dtype.name.startswith("ui") and not value.literal:
            target = unary_type(value.dtype)
            found = Value(target, coerce(value, target))
    elif isinstance(op, ast.USub):
        found = scalars.negate(value)
    else:
        found = scalars.invert(value)
    if found is None:
        raise TypeMismatchError(
            f"No rule gives this operator on {value.dtype} a type.", body.place(node)
        )
    return found


def _number(body: Body, value: Value, node: ast.AST) -> Value:
    if isinstance(value.dtype, Struct):
        raise TypeMismatchError("A Struct has no truth value.", body.place(node))
    return value


def _boolean(body: Body, node: ast.BoolOp) -> Value:
    word = " and " if isinstance(node.op, ast.And) else " or "
    parts = [truth(_number(body, body.scalar(part), part)) for part in node.values]
    return condition("(" + word.join(parts) + ")")


def _compare(body: Body, node: ast.Compare) -> Value:
    operands = [body.expression(part) for part in (node.left, *node.comparators)]
    symbols = []
    for op in node.ops:
        symbol = COMPARISONS.get(type(op).__name__)
        if symbol is None:
            raise UnsupportedSyntaxError(
                f"{type(op).__name__} has no meaning in a kernel.", body.place(node)
            )
        symbols.append(symbol)
    if any(operand.is_array for operand in operands):
        return tensors.broadcast(
            body, lambda *parts: _chain(body, symbols, list(parts), node), node, *operands
        )
    return _chain(body, symbols, operands, node)


def _chain(body: Body, symbols: list[str], operands: list[Value], node: ast.AST) -> Value:
    """A comparison, or a chain of them: each operand is computed once, and only if needed."""
    parts = []
    left = operands[0]
    for position, symbol in enumerate(symbols):
        right = operands[position + 1]
        later = right
        if position + 1 < len(symbols) and right.exact is None and not right.code.isidentifier():
            name = body.temporary()
            later = Value(right.dtype, name)
            right = Value(right.dtype, f"({name} := {right.code})")
        code = scalars.compare(symbol, left, right)
        if code is None:
            raise TypeMismatchError(
                f"No rule compares {left.dtype} with {right.dtype}.", body.place(node)
            )
        parts.append(code)
        left = later
    return condition(parts[0] if len(parts) == 1 else "(" + " and ".join(parts) + ")")


def _choice(body: Body, node: ast.IfExp) -> Value:
    test = body.scalar(node.test)
    yes, no = body.expression(node.body), body.expression(node.orelse)
    if yes.is_array or no.is_array:
        picked = condition(truth(test))
        return tensors.broadcast(
            body, lambda c, a, b: _select(body, c, a, b, node), node, picked, yes, no
        )
    return _select(body, test, yes, no, node)


def _select(body: Body, test: Value, yes: Value, no: Value, node: ast.AST) -> Value:
    common = scalars.select_type(yes, no)
    if common is None:
        raise TypeMismatchError(
            f"No rule joins {yes.dtype} and {no.dtype} in a choice.", body.place(node)
        )
    code = f"({coerce(yes, common)} if {truth(test)} else {coerce(no, common)})"
    return Value(common, code)


def _call(body: Body, node: ast.Call) -> Value:
    return calls.call(body, node)


def _subscript(body: Body, node: ast.Subscript) -> Value:
    return elements.read(body, node)


def _tuple(body: Body, node: ast.Tuple) -> Value:
    raise UnsupportedSyntaxError(
        "A tuple has a meaning in assignments and results only.", body.place(node)
    )


def _list(body: Body, node: ast.List) -> Value:
    """Numbers written out: an array of the type that its literals have."""
    value = body.evaluate(node, "A list")
    try:
        parts, shape = constants.flattened(value)
        numbers = [literal(plain_number(part)) for part in parts]
    except (TypeError, ValueError) as error:
        raise ShapeMismatchError("The list is no array of numbers.", body.place(node)) from error
    floats = [v for v in numbers if isinstance(v.dtype, Float)]
    dtype = floats[0].dtype if floats else max((v.dtype for v in numbers), key=lambda t: t.bits)
    name = body.program.constant([scalars.exact_to_raw(v.exact, dtype) for v in numbers])
    return Value(dtype, f"Array({name}, {shape})", shape=shape, literal=True)


_FORMS: dict[type[ast.expr], Callable[[Body, Any], Value]] = {
    ast.Constant: _constant,
    ast.Name: _name,
    ast.Attribute: _attribute,
    ast.BinOp: _binary,
    ast.UnaryOp: _unary,
    ast.BoolOp: _boolean,
    ast.Compare: _compare,
    ast.IfExp: _choice,
    ast.Call: _call,
    ast.Subscript: _subscript,
    ast.Tuple: _tuple,
    ast.List: _list,
}
