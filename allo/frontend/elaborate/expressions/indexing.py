"""Affine recognition: which expressions are affine in iterators, constants and scalar arguments.

An expression counts as affine only where whole-number arithmetic gives what its types give: each
argument in it is representable as an index, no operation wraps in the type the rules give it, and
no remainder is of a negative number, whose sign the language keeps. Index arithmetic (iterators,
index arguments and literals) stays in the 64 bits of an index.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass

from allo.dialects.ranges.interval import INDEX_RANGE, Interval, within
from allo.dialects.types import AlloType, Index, Int, UInt
from allo.frontend.affine import Affine, ScalarArg, Symbol, constant, of_atom
from allo.frontend.capture import MISSING
from allo.frontend.elaborate import dispatch
from allo.frontend.elaborate.context import ConstBinding, FunctionContext, IterBinding, as_int
from allo.frontend.rules import operations as ops
from allo.frontend.rules.integers import is_exact_index, is_integer, range_of, smallest_int, wrap
from allo.frontend.tree import Binary, Compare, Const, Expr, Select, Subscript

_SYMBOLS: dict[type[ast.operator], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.FloorDiv: "//",
    ast.Mod: "%",
}
_NO_ADDRESS = 32
"""Bits of a type in which a sum that wraps is past the end of every array."""


@dataclass(frozen=True, slots=True)
class _Typed:
    """An affine expression, the type of the expression it was, and whether their values are the same."""

    value: Affine
    dtype: AlloType
    exact: bool = True
    literal: bool = False


def affine_of(ctx: FunctionContext, node: ast.expr) -> Affine | None:
    """The affine expression a syntax tree is as a place in an array, or None.

    A sum may wrap in its type (of unsigned arguments, say) where that is past every array's end.
    """
    found = _affine(ctx, node)
    if found is None:
        return None
    wide = found.dtype.bits >= _NO_ADDRESS and ctx.rules.name == "default"
    return found.value if found.exact or wide else None


def exact_affine_of(ctx: FunctionContext, node: ast.expr) -> Affine | None:
    """The affine expression whose value a syntax tree always has, or None."""
    found = _affine(ctx, node)
    return found.value if found is not None and found.exact else None


def _affine(ctx: FunctionContext, node: ast.expr) -> _Typed | None:
    if isinstance(node, ast.Constant):
        return _number(node.value) if type(node.value) is int else None
    if isinstance(node, ast.Name):
        return _name(ctx, node)
    if isinstance(node, ast.BinOp):
        return _binary(ctx, node)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
        return _signed(_affine(ctx, node.operand), isinstance(node.op, ast.USub))
    if isinstance(node, (ast.Attribute, ast.Subscript, ast.Call)):
        return _number(as_int(ctx.try_constant(node)))
    return None


def _number(value: int | None) -> _Typed | None:
    """A literal."""
    return None if value is None else _Typed(constant(value), smallest_int(value), literal=True)


def _signed(operand: _Typed | None, negative: bool) -> _Typed | None:
    if operand is None or (operand.literal and not negative):
        return operand
    if operand.literal:
        return _number(-operand.value.const)
    dtype = Int(operand.dtype.bits) if isinstance(operand.dtype, UInt) else operand.dtype
    value = -operand.value if negative else operand.value
    fits = isinstance(dtype, Index) or within(value.bounds(), range_of(dtype))
    if not fits and isinstance(operand.dtype, UInt):
        return None  # it wraps, and may then be the place of an element
    return _Typed(value, dtype, operand.exact and fits)


def _name(ctx: FunctionContext, node: ast.Name) -> _Typed | None:
    found = ctx.find(node.id)
    if isinstance(found, IterBinding):
        return _Typed(found.value, ops.INDEX)
    if isinstance(found, ConstBinding):
        return _declared(as_int(found.value), found.dtype)
    if isinstance(found, ScalarArg):
        value = symbol_of(ctx, found)
        return None if value is None else _Typed(value, found.dtype)
    if found is not None:
        return None
    captured = ctx.captured(node.id)
    if captured is MISSING:
        raise ctx.unknown_name(node, node.id)
    return _number(as_int(captured))


def _declared(number: int | None, dtype: AlloType | None) -> _Typed | None:
    """A constant, with the type it was declared with."""
    if number is None or dtype is None:
        return _number(number)
    return _Typed(constant(wrap(number, dtype)), dtype) if is_integer(dtype) else None


def symbol_of(ctx: FunctionContext, arg: ScalarArg) -> Affine | None:
    """An argument whose type holds only indices as a symbol; it never changes, so it may bound a loop."""
    if not is_exact_index(arg.dtype):
        return None
    symbol = ctx.symbols.get(arg)
    if symbol is None:
        symbol = ctx.symbols[arg] = Symbol(arg)
    return of_atom(symbol)


def _binary(ctx: FunctionContext, node: ast.BinOp) -> _Typed | None:
    left = _affine(ctx, node.left)
    right = None if left is None else _affine(ctx, node.right)
    if left is None or right is None:
        return None
    if left.literal and right.literal:
        return _number(_of_literals(node.op, left.value.const, right.value.const))
    symbol = _SYMBOLS.get(type(node.op))
    if symbol is None:
        return None
    dtype = _result(ctx, symbol, left, right)
    if dtype is None:
        return None
    if symbol in ("//", "%"):
        return _divided(symbol, left, right, dtype)
    value = _sum_or_multiple(symbol, left.value, right.value)
    if value is None:
        return None
    exact = left.exact and right.exact and _fits(value.bounds(), dtype)
    return _Typed(value, dtype, exact)


def _of_literals(op: ast.operator, a: int, b: int) -> int | None:
    if isinstance(op, ast.Add):
        return a + b
    if isinstance(op, ast.Sub):
        return a - b
    if isinstance(op, ast.Mult):
        return a * b
    if isinstance(op, ast.FloorDiv) and b > 0:
        return a // b
    if isinstance(op, ast.Mod) and b > 0:
        return a % b if a >= 0 else -(-a % b)
    return int(a**b) if isinstance(op, ast.Pow) and b > 0 else None


def _result(ctx: FunctionContext, symbol: str, left: _Typed, right: _Typed) -> AlloType | None:
    """The type of an operation; index arithmetic with literals stays index."""
    if all(isinstance(side.dtype, Index) or side.literal for side in (left, right)):
        return ops.INDEX
    return ctx.rules.result(symbol, left.dtype, right.dtype)


def _fits(values: Interval, dtype: AlloType) -> bool:
    """Whether no value is lost; index arithmetic is modulo its 64 bits by definition."""
    if isinstance(dtype, Index):
        return True
    return within(values, range_of(dtype)) and within(values, INDEX_RANGE)


def _sum_or_multiple(symbol: str, left: Affine, right: Affine) -> Affine | None:
    if symbol == "+":
        return left + right
    if symbol == "-":
        return left - right
    if right.is_constant:
        return left.scaled(right.const)
    return right.scaled(left.const) if left.is_constant else None


def _divided(symbol: str, left: _Typed, right: _Typed, dtype: AlloType) -> _Typed | None:
    """Quotient or remainder by a positive constant, of a value known exactly."""
    divisor = right.value.const
    if not right.value.is_constant or divisor <= 0 or not left.exact or _may_wrap(left.value):
        return None
    negative = left.value.bounds()[0] < 0
    if symbol == "%" and negative:
        return None
    value = left.value.floordiv(divisor) if symbol == "//" else left.value.mod(divisor)
    return _Typed(value, dtype) if _fits(value.bounds(), dtype) else None


def _may_wrap(value: Affine) -> bool:
    """Whether a multiple in a value may leave index: its quotient is not that of whole numbers then.

    Affine expressions are of whole numbers, in which ``(n * 6) // 6`` is ``n``.
    """
    multiple = any(abs(coefficient) > 1 for _, coefficient in value.terms)
    return multiple and not within(value.bounds(), INDEX_RANGE)


def subscript(ctx: FunctionContext, node: ast.expr) -> Subscript:
    """A place in an array: affine where it can be, else an expression of type index."""
    found = affine_of(ctx, node)
    return found if found is not None else _computed(ctx, node)


def position(ctx: FunctionContext, node: ast.expr) -> Subscript:
    """The whole subscript of a dimension; as a remainder by a constant it goes round where negative."""
    if not (isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod)):
        return subscript(ctx, node)
    divisor = exact_affine_of(ctx, node.right)
    if divisor is None or not divisor.is_constant or divisor.const <= 0:
        return subscript(ctx, node)
    left = exact_affine_of(ctx, node.left)
    if left is None or _may_wrap(left):
        return _gone_round(ctx, node, divisor.const)
    return left.mod(divisor.const)


def _gone_round(ctx: FunctionContext, node: ast.BinOp, divisor: int) -> Subscript:
    """A remainder that has the sign of its dividend, as one of 0 … divisor − 1."""
    rest = subscript(ctx, node)
    if isinstance(rest, Affine) or ops.value_range(rest)[0] >= 0:
        return rest
    place = ctx.place(node)
    negative = Compare(ops.BOOL, place, "<", rest, Const(ops.INDEX, place, 0))
    raised = Binary(ops.INDEX, place, "+", rest, Const(ops.INDEX, place, divisor))
    return Select(ops.INDEX, place, negative, raised, rest)


def bound(ctx: FunctionContext, node: ast.expr) -> Subscript:
    """A bound or step of a loop: affine where that is exact, else an expression of type index."""
    found = exact_affine_of(ctx, node)
    return found if found is not None else _computed(ctx, node)


def _computed(ctx: FunctionContext, node: ast.expr) -> Subscript:
    value = dispatch.scalar(ctx, node)
    if not is_integer(value.dtype):
        raise dispatch.type_error(
            ctx, node, f"An index must be an integer, not {value.dtype}.", "convert it with int(x)."
        )
    return as_index(value)


def as_index(value: Expr) -> Subscript:
    """An integer expression as a subscript."""
    found = ops.affine_value(value)
    return found if found is not None else ops.cast(value, ops.INDEX)
