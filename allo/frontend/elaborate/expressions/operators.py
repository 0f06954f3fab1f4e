"""Operators: arithmetic, products of matrices, comparison of a pair."""

from __future__ import annotations

import ast

from allo.dialects.diagnostics import SourcePlace
from allo.dialects.types import Int, UInt
from allo.frontend.checks.surprises import shifted_back, shifted_out
from allo.frontend.elaborate import dispatch
from allo.frontend.elaborate.arrays import lazy as arrays
from allo.frontend.elaborate.arrays import reductions
from allo.frontend.elaborate.arrays.lazy import ArrayValue, Value
from allo.frontend.elaborate.context import FunctionContext
from allo.frontend.elaborate.expressions.order import ordered_pair
from allo.frontend.rules import operations as ops
from allo.frontend.tree import Const

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


def binary(ctx: FunctionContext, node: ast.BinOp) -> Value:
    """``a + b`` and its kin, and ``a @ b``."""
    symbol = BINARY_SYMBOLS.get(type(node.op))
    lhs, rhs = ordered_pair(ctx, node.left, node.right)
    if symbol is None:
        return reductions.matmul_operator(ctx, [lhs, rhs], ctx.place(node))
    return apply_binary(ctx, symbol, lhs, rhs, ctx.place(node))


def apply_binary(
    ctx: FunctionContext, symbol: str, lhs: Value, rhs: Value, place: SourcePlace
) -> Value:
    """``lhs symbol rhs``, element-wise when a side is an array."""
    operate = ops.shift if symbol in ("<<", ">>") else ops.binary
    if symbol in ("<<", ">>") and isinstance(rhs, Const) and not isinstance(lhs, Const):
        amount = int(rhs.value)
        if amount < 0:
            ctx.module.surprises.append(shifted_back(place, symbol, amount))
        elif symbol == "<<" and isinstance(lhs.dtype, (Int, UInt)) and amount >= lhs.dtype.bits:
            ctx.module.surprises.append(shifted_out(place, lhs.dtype, amount))
    if isinstance(lhs, ArrayValue) or isinstance(rhs, ArrayValue):
        return arrays.elementwise(
            [lhs, rhs],
            lambda v: operate(ctx.rules, symbol, v[0], v[1], place),
            place,
            f"Cannot apply {symbol!r}",
        )
    return operate(ctx.rules, symbol, lhs, rhs, place)


def unary(ctx: FunctionContext, node: ast.UnaryOp) -> Value:
    """``-a``, ``+a``, ``~a``, ``not a``."""
    symbol = UNARY_SYMBOLS[type(node.op)]
    value = dispatch.expression(ctx, node.operand)
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
        raise dispatch.unsupported_node(ctx, node)
    return [symbol for symbol in symbols if symbol is not None]


def compare_arrays(
    ctx: FunctionContext, node: ast.Compare, symbol: str, left: Value, right: Value
) -> Value:
    """A comparison of arrays, element by element."""
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
