"""Subscripts and bounds: expressions that become an index."""

from __future__ import annotations

import ast
from dataclasses import replace

from allo.dialects.diagnostics import TypeMismatchError
from allo.dialects.types import AlloType, Index, Int, UInt, index

from ..body import Body
from ..rules import is_integer, result_type
from ..running.casts import value_range, wrap_code
from .scalars import coerce
from .values import Symbol, Value

Span = tuple[int, int]
_SYMBOLS: dict[type[ast.operator], str] = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*"}


def index_value(body: Body, node: ast.expr, what: str) -> Value:
    """An expression as an index: sums, differences and multiples of index values and literals
    stay index, anything else has the type of the tables until its end.

    Raises:
        TypeMismatchError: when it is no integer.
    """
    value = _value(body, node)
    if not is_integer(value.dtype) or value.is_array:
        raise TypeMismatchError(f"{what} is an integer, not {value.dtype}.", body.place(node))
    if value.exact is not None:
        return replace(value, exact=value.exact & 1) if value.dtype.bits == 1 else value
    return value if isinstance(value.dtype, Index) else Value(index, coerce(value, index))


def index_code(body: Body, node: ast.expr, what: str) -> str:
    """Text of an expression as an index."""
    return coerce(index_value(body, node, what), index)


def _value(body: Body, node: ast.expr) -> Value:
    if isinstance(node, ast.BinOp) and type(node.op) in _SYMBOLS and not body.is_known(node):
        left, right = _value(body, node.left), _value(body, node.right)
        if _stays(left) and _stays(right) and not (left.is_array or right.is_array):
            return _combined(_SYMBOLS[type(node.op)], left, right)
        return body.program.language.operate(body, _SYMBOLS[type(node.op)], left, right, node)
    value = body.expression(node)
    if isinstance(node, ast.Name):
        entry = body.find(node.id)
        value.span = entry.span if isinstance(entry, Symbol) else None
    return value


def _stays(value: Value) -> bool:
    """Whether a value is an index, or a literal that takes its type."""
    return isinstance(value.dtype, Index) or (value.literal and is_integer(value.dtype))


def _combined(symbol: str, left: Value, right: Value) -> Value:
    code = f"({coerce(left, index)} {symbol} {coerce(right, index)})"
    span = _span(symbol, span_of(left), span_of(right))
    low, high = value_range(index)
    if span is None or span[0] < low or span[1] > high:
        return Value(index, wrap_code(code, index))
    return Value(index, code, span=span)


def span_of(value: Value) -> Span | None:
    """The least and the greatest value, where they are known."""
    if value.exact is not None:
        return int(value.exact), int(value.exact)
    return value.span


def _span(symbol: str, left: Span | None, right: Span | None) -> Span | None:
    if left is None or right is None:
        return None
    if symbol == "+":
        return left[0] + right[0], left[1] + right[1]
    if symbol == "-":
        return left[0] - right[1], left[1] - right[0]
    corners = [a * b for a in left for b in right]
    return min(corners), max(corners)


# --- subscripts that go round ----------------------------------------------------------------------


def round_subscript(body: Body, node: ast.expr) -> Value | None:
    """A whole subscript ``e % d``, ``d`` a positive constant: one of 0 … d - 1, as in Python.

    None for any other.
    """
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Mod):
        return None
    divisor = _positive(body, node.right)
    if divisor is None:
        return None
    if body.is_known(node.left) or affine_type(body, node.left) is None:
        rest = index_value(body, node, "A subscript")
        if rest.exact is not None:
            return replace(rest, exact=rest.exact % divisor)
        return Value(index, f"({coerce(rest, index)} % {divisor})", span=(0, divisor - 1))
    code = index_code(body, node.left, "A subscript")
    return Value(index, f"({code} % {divisor})", span=(0, divisor - 1))


def _positive(body: Body, node: ast.expr) -> int | None:
    """A positive constant."""
    if not body.is_known(node):
        return None
    value = body.evaluate(node, "A divisor")
    return int(value) if isinstance(value, int) and value > 0 else None


def affine_type(body: Body, node: ast.expr) -> AlloType | None:
    """The type of an affine expression; None for any other.

    Affine are constants, iterators and integer arguments of types that hold nothing but indices,
    their sums, differences and constant multiples, and these with ``//`` and ``%`` by positive
    constants, unless a type on the way wraps.
    """
    if body.is_known(node):
        value = body.expression(node)
        return value.dtype if is_integer(value.dtype) and not value.is_array else None
    if isinstance(node, ast.Name):
        return _leaf(body.find(node.id))
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = affine_type(body, node.operand)
        return inner if isinstance(inner, (Index, Int)) else None
    if not isinstance(node, ast.BinOp):
        return None
    left = affine_type(body, node.left)
    if left is None:
        return None
    if isinstance(node.op, (ast.FloorDiv, ast.Mod)):
        return left if _positive(body, node.right) is not None else None
    right = affine_type(body, node.right)
    symbol = _SYMBOLS.get(type(node.op))
    if right is None or symbol is None:
        return None
    if symbol == "*" and not (body.is_known(node.left) or body.is_known(node.right)):
        return None
    result = result_type(symbol, left, right)
    wraps = symbol == "-" and isinstance(result, UInt)
    return None if wraps else result


def _leaf(entry: object) -> AlloType | None:
    if not isinstance(entry, Symbol) or entry.shape is not None:
        return None
    if entry.fixed:
        return entry.dtype
    if entry.parameter is None or entry.assigned:
        return None
    dtype = entry.dtype
    narrow = dtype.bits <= 64 if isinstance(dtype, Int) else dtype.bits < 64
    return dtype if is_integer(dtype) and narrow else None
