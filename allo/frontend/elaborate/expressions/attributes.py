"""Attributes and methods of values: ``A.T``, ``x.reverse()``."""

from __future__ import annotations

import ast

from allo.dialects.diagnostics import SourcePlace
from allo.dialects.types import (
    AlloType,
    FixedPoint,
    Float,
    Int,
    UInt,
    as_type,
    float16,
    float32,
    float64,
)
from allo.frontend.capture import MISSING
from allo.frontend.elaborate import dispatch
from allo.frontend.elaborate.arrays import lazy as arrays
from allo.frontend.elaborate.arrays import stores
from allo.frontend.elaborate.arrays.lazy import ArrayValue, Value, View
from allo.frontend.elaborate.context import FunctionContext
from allo.frontend.elaborate.expressions.names import captured_value
from allo.frontend.rules import bit_fields, fixed
from allo.frontend.rules import operations as ops
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


def method(ctx: FunctionContext, node: ast.Attribute, wanted: ast.expr | None = None) -> Value:
    """The result of one of ``METHODS``, written with or without parentheses; ``bitcast`` may name a type."""
    owner = dispatch.expression(ctx, node.value)
    place = ctx.place(node)
    if node.attr in ("T", "copy"):
        return _array_method(ctx, node, owner, place)
    if isinstance(owner, ArrayValue):
        raise dispatch.type_error(ctx, node, f".{node.attr} is for scalars, not whole arrays.")
    if node.attr == "reverse":
        return bit_fields.reverse_bits(owner, place)
    return bitcast(ctx, node, owner) if wanted is None else bits_as(ctx, wanted, owner)


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


def bits_as(ctx: FunctionContext, node: ast.expr, value: Expr) -> Expr:
    """``x.bitcast(T)``: the bits of a value as a type of as many bits."""
    place = ctx.place(node)
    dtype = as_type(ctx.constant(node, "The type in .bitcast"))
    if dtype is None or not _has_bits(dtype) or not _has_bits(value.dtype):
        wrong = value.dtype if dtype is not None and _has_bits(dtype) else ast.unparse(node)
        raise dispatch.type_error(
            ctx,
            node,
            f"bitcast reads bits as another type, and {wrong} has no bits to read.",
            "integers, fixed point and floats have: x.bitcast(Fixed(16, 8)).",
        )
    if dtype.bits != value.dtype.bits:
        raise dispatch.type_error(
            ctx,
            node,
            f"{value.dtype} has {value.dtype.bits} bits, and {dtype} has {dtype.bits}: bitcast keeps "
            "every bit.",
            f"cast first: UInt({dtype.bits})(x).bitcast({ast.unparse(node)}).",
        )
    whole = UInt(dtype.bits)
    if isinstance(value.dtype, Float):
        value = Bitcast(whole, place, value)
    bits = ops.cast(fixed.raw(value), whole)
    if isinstance(dtype, Float):
        return Bitcast(dtype, place, bits)
    if fixed.is_fixed(dtype):
        return fixed.of_raw(ops.cast(bits, fixed.raw_type(dtype)), dtype, place)
    return ops.cast(bits, dtype)


def _has_bits(dtype: AlloType) -> bool:
    return isinstance(dtype, (Int, UInt, FixedPoint, Float))
