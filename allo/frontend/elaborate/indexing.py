"""Affine recognition: which expressions are affine in iterators, constants and scalar arguments."""

from __future__ import annotations

import ast

from allo.dialects.types import Int, UInt

from .. import operations as ops
from ..affine import Affine, constant, of_atom
from ..capture import MISSING
from ..tree import Expr, ScalarArg, Subscript, Symbol
from . import expressions
from .context import ConstBinding, FunctionContext, IterBinding, as_int


def affine_of(ctx: FunctionContext, node: ast.expr) -> Affine | None:
    """The affine expression a syntax tree is, or None."""
    if isinstance(node, ast.Constant):
        return constant(node.value) if type(node.value) is int else None
    if isinstance(node, ast.Name):
        return _name(ctx, node)
    if isinstance(node, ast.BinOp):
        return _binary(ctx, node)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
        value = affine_of(ctx, node.operand)
        if value is None or isinstance(node.op, ast.UAdd):
            return value
        return -value
    if isinstance(node, (ast.Attribute, ast.Subscript, ast.Call)):
        number = as_int(ctx.try_constant(node))
        return None if number is None else constant(number)
    return None


def _name(ctx: FunctionContext, node: ast.Name) -> Affine | None:
    found = ctx.find(node.id)
    if isinstance(found, IterBinding):
        return found.value
    if isinstance(found, ConstBinding):
        number = as_int(found.value)
        return None if number is None else constant(number)
    if isinstance(found, ScalarArg):
        return symbol_of(ctx, found)
    if found is not None:
        return None
    value = ctx.captured(node.id)
    if value is MISSING:
        raise ctx.unknown_name(node, node.id)
    number = as_int(value)
    return None if number is None else constant(number)


def symbol_of(ctx: FunctionContext, arg: ScalarArg) -> Affine | None:
    """An integer argument as a symbol; it never changes, so it may bound an affine loop."""
    if not ops.is_integer(arg.dtype) or arg.dtype.bits > 64:
        return None
    symbol = ctx.symbols.get(arg)
    if symbol is None:
        symbol = ctx.symbols[arg] = Symbol(arg)
    return of_atom(symbol)


def _binary(ctx: FunctionContext, node: ast.BinOp) -> Affine | None:
    left = affine_of(ctx, node.left)
    if left is None:
        return None
    right = affine_of(ctx, node.right)
    if right is None:
        return None
    if isinstance(node.op, ast.Add):
        return left + right
    if isinstance(node.op, ast.Sub):
        return left - right
    if isinstance(node.op, ast.Mult):
        if right.is_constant:
            return left.scaled(right.const)
        return right.scaled(left.const) if left.is_constant else None
    if not right.is_constant or right.const <= 0:
        return None
    if isinstance(node.op, ast.FloorDiv):
        return left.floordiv(right.const)
    if isinstance(node.op, ast.Mod):
        return left.mod(right.const)
    if isinstance(node.op, ast.Pow) and left.is_constant:
        return constant(left.const**right.const)
    return None


def is_affine(value: Subscript) -> bool:
    """Whether an affine operation may use this subscript: every iterator is of an affine loop."""
    if not isinstance(value, Affine):
        return False
    return all(isinstance(a, Symbol) or a.affine for a in value.atoms())


def subscript(ctx: FunctionContext, node: ast.expr) -> Subscript:
    """An index: affine where it can be, else an expression of type index."""
    found = affine_of(ctx, node)
    if found is not None:
        return found
    value = expressions.scalar(ctx, node)
    if not isinstance(value.dtype, (Int, UInt)) and not ops.is_integer(value.dtype):
        raise expressions.type_error(
            ctx, node, f"An index must be an integer, not {value.dtype}.", "convert it with int(x)."
        )
    return as_index(value)


def as_index(value: Expr) -> Subscript:
    """An integer expression as a subscript."""
    found = ops.affine_value(value)
    return found if found is not None else ops.cast(value, ops.INDEX)
