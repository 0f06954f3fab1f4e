"""Attributes and methods of values: ``A.T``, ``x.reverse()``."""

from __future__ import annotations

import ast

from allo.dialects.diagnostics import SourcePlace
from allo.dialects.types import Float, Int, UInt, float16, float32, float64
from allo.frontend.capture import MISSING
from allo.frontend.elaborate import dispatch
from allo.frontend.elaborate.arrays import lazy as arrays
from allo.frontend.elaborate.arrays import stores
from allo.frontend.elaborate.arrays.lazy import ArrayValue, Value, View
from allo.frontend.elaborate.context import FunctionContext
from allo.frontend.elaborate.expressions.names import captured_value
from allo.frontend.rules import bit_fields, fixed
from allo.frontend.tree import Bitcast, Expr


def attribute(ctx: FunctionContext, node: ast.Attribute) -> Value:
    """``A.T``, ``x.reverse`` … of a value, or an attribute of a captured object."""
    value = ctx.try_constant(node)
    if value is not MISSING:
        return captured_value(ctx, node, ast.unparse(node), value)
    if node.attr in METHODS:
        return method(ctx, node)
    base = node.value
    if isinstance(base, ast.Name) and ctx.find(base.id) is None:
        ctx.constant(node, "This attribute")
    raise dispatch.type_error(
        ctx,
        node,
        f"Unsupported function call or attribute method `.{node.attr}`.",
        f"values have {', '.join('.' + m for m in METHODS)}.",
    )


METHODS = ("T", "copy", "reverse", "bitcast")


def method(ctx: FunctionContext, node: ast.Attribute) -> Value:
    """The result of one of ``METHODS``, written with or without parentheses."""
    owner = dispatch.expression(ctx, node.value)
    place = ctx.place(node)
    if node.attr in ("T", "copy"):
        return _array_method(ctx, node, owner, place)
    if isinstance(owner, ArrayValue):
        raise dispatch.type_error(ctx, node, f".{node.attr} is for scalars, not whole arrays.")
    if node.attr == "reverse":
        return bit_fields.reverse_bits(owner, place)
    return bitcast(ctx, node, owner)


def _array_method(
    ctx: FunctionContext, node: ast.Attribute, owner: Value, place: SourcePlace
) -> Value:
    if not isinstance(owner, ArrayValue):
        raise dispatch.type_error(ctx, node, f".{node.attr} is for arrays.")
    if node.attr == "copy":
        return arrays.whole(stores.fresh_copy(ctx, owner, "copy", owner.dtype), place)
    view = owner if isinstance(owner, View) else None
    if view is None:
        view = arrays.whole(stores.materialize(ctx, owner, "array"), place)
    return arrays.transposed(view, tuple(reversed(range(len(view.shape)))), place)


_FLOAT_OF_BITS = {16: float16, 32: float32, 64: float64}


def bitcast(ctx: FunctionContext, node: ast.AST, value: Expr) -> Expr:
    """The same bits: an integer as a float, a float as an unsigned integer, fixed point as an integer."""
    place = ctx.place(node)
    if fixed.is_fixed(value.dtype):
        return fixed.raw(value)
    if isinstance(value.dtype, Float):
        return Bitcast(UInt(value.dtype.bits), place, value)
    if isinstance(value.dtype, (Int, UInt)) and value.dtype.bits in _FLOAT_OF_BITS:
        return Bitcast(_FLOAT_OF_BITS[value.dtype.bits], place, value)
    raise dispatch.type_error(
        ctx,
        node,
        f"Unsupported bitwidth {value.dtype.bits}: {value.dtype} cannot be bit-cast.",
        "integers of 16, 32 or 64 bits become floats; floats become unsigned integers.",
    )
