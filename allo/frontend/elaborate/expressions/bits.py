"""Bits of an integer, and the field of a packed Struct."""

from __future__ import annotations

import ast
import warnings

from allo.dialects.diagnostics import DTypeWarning, ShapeMismatchError, SourcePlace
from allo.dialects.types import Int, UInt
from allo.frontend.affine import Affine, constant
from allo.frontend.elaborate import dispatch
from allo.frontend.elaborate.arrays import lazy as arrays
from allo.frontend.elaborate.arrays.lazy import Value
from allo.frontend.elaborate.context import FunctionContext
from allo.frontend.elaborate.expressions import indexing
from allo.frontend.rules import bit_fields
from allo.frontend.rules import operations as ops
from allo.frontend.tree import Binary, Const, Expr, Subscript


def select_bits(
    ctx: FunctionContext, value: Expr, items: list[ast.expr], place: SourcePlace
) -> Value:
    """``value[k]`` or ``value[lo:hi]`` of a scalar."""
    for item in items:
        low, width = bit_field(ctx, value, item)
        value = bit_fields.bit_range(value, low, width, place)
    return value


def bit_field(ctx: FunctionContext, value: Expr, item: ast.expr) -> tuple[Expr, int | Expr]:
    """(lowest bit, width) of ``value[item]``; the width is an expression where not constant."""
    if not isinstance(value.dtype, (Int, UInt)):
        raise dispatch.type_error(
            ctx,
            item,
            f"A value of type {value.dtype} has no elements or bits to select.",
            "only arrays have elements and only integers have bits; x.bitcast() is a Fixed's "
            "integer.",
        )
    limit = value.dtype.bits
    if not isinstance(item, ast.Slice):
        low = arrays.as_expr(indexing.subscript(ctx, item), ctx.place(item))
        low = _simplest(low)
        if isinstance(low, Const) and not 0 <= low.value < limit and not ctx.dead:
            raise ShapeMismatchError(
                f"Index out of range: bit {low.value} of {value.dtype}.",
                ctx.place(item),
                help="bit 0 is the lowest.",
            )
        return low, 1
    if item.step is not None:
        raise ctx.unsupported(
            item.step, "A bit slice has no step.", "take the bits one by one in a loop."
        )
    lower = Affine() if item.lower is None else indexing.subscript(ctx, item.lower)
    upper = constant(limit) if item.upper is None else indexing.subscript(ctx, item.upper)
    if not (
        isinstance(lower, Affine) and isinstance(upper, Affine) and (upper - lower).is_constant
    ):
        return _run_time_field(ctx, item, lower, upper)
    width = (upper - lower).const
    if width <= 0 or (lower.is_constant and not 0 <= lower.const <= limit - width):
        raise ShapeMismatchError(
            f"Index out of range: bits {ast.unparse(item)} of {value.dtype}; the upper bound "
            "is exclusive.",
            ctx.place(item),
            help="x[0:8] is the lowest byte of x.",
        )
    return _simplest(arrays.as_expr(lower, ctx.place(item))), width


def _run_time_field(
    ctx: FunctionContext, item: ast.Slice, lower: Subscript, upper: Subscript
) -> tuple[Expr, Expr]:
    place = ctx.place(item)
    warnings.warn(
        f"{place}: the width of the bit slice {ast.unparse(item)} is not constant, so its bits are "
        "a ui32; write x[lo : lo + W] for W bits.",
        DTypeWarning,
        stacklevel=2,
    )
    low, high = (ops.cast(arrays.as_expr(bound, place), UInt(32)) for bound in (lower, upper))
    return _simplest(low), Binary(UInt(32), place, "-", high, low)


def _simplest(value: Expr) -> Expr:
    affine = ops.affine_value(value)
    if affine is not None and affine.is_constant:
        return Const(ops.INDEX, value.place, affine.const)
    return value
