"""Whole-array functions that reduce: products and windows."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

from allo.dialects.diagnostics import SourcePlace, TypeMismatchError
from allo.dialects.types import AlloType, Fixed, Float, Index, Int
from allo.frontend.affine import constant
from allo.frontend.elaborate.arrays import lazy as arrays
from allo.frontend.elaborate.arrays import stores
from allo.frontend.elaborate.arrays.lazy import ArrayValue, Indices, Value, View
from allo.frontend.elaborate.arrays.requests import Request, new_result
from allo.frontend.elaborate.context import FunctionContext
from allo.frontend.rules import operations as ops
from allo.frontend.syntax import is_none
from allo.frontend.tree import Const, Expr, Load, Store


def _add(request: Request, a: Expr, b: Expr) -> Expr:
    return ops.binary(request.ctx.rules, "+", a, b, request.place)


def _accumulate(
    request: Request,
    shape: Sequence[int],
    reduced: Sequence[int],
    dtype: AlloType,
    start: int | float,
    update: Callable[[Expr, Indices, Indices], Expr],
) -> View:
    """``result[i] = start; for r: result[i] = update(result[i], i, r)`` as one nest."""
    ctx, place = request.ctx, request.place
    var = new_result(request, dtype, shape)
    first = Const(dtype, place, start)
    stores.store(ctx, arrays.whole(var, place), first, place)

    def outer(i: Indices) -> None:
        def inner(r: Indices) -> None:
            old = Load(dtype, place, var, i)
            ctx.emit(Store(place, var, i, ops.cast(update(old, i, r), dtype, place)))

        stores.loop_nest(ctx, reduced, place, inner, prefix="r", reduction=True)

    stores.loop_nest(ctx, shape, place, outer, op_name=request.band)
    return arrays.whole(var, place)


def _zero(dtype: AlloType) -> int | float:
    return 0.0 if isinstance(dtype, Float) else 0


def matmul_operator(ctx: FunctionContext, values: Sequence[Value], place: SourcePlace) -> Value:
    """``a @ b``."""
    node = ast.Call(func=ast.Name("matmul"), args=[], keywords=[])
    node.lineno, node.col_offset = place.line, place.col - 1
    node.end_lineno, node.end_col_offset = place.end_line, (place.end_col or place.col) - 1
    request = Request(ctx, node, "matmul", {}, None)
    stored = []
    for value in values:
        if not isinstance(value, ArrayValue):
            raise TypeMismatchError("@ needs two arrays.", place, help="for scalars write a * b.")
        stored.append(value if isinstance(value, View) else _computed(ctx, value))
    return _product(request, stored[0], stored[1])


def _computed(ctx: FunctionContext, value: ArrayValue) -> View:
    return arrays.whole(stores.fresh_copy(ctx, value, "operand", value.dtype), value.place)


def matmul(request: Request) -> Value:
    """``allo.matmul(a, b)``: the product of matrices, or of batches of them."""
    return _product(request, request.stored("a"), request.stored("b"))


def bmm(request: Request) -> Value:
    """``allo.bmm(a, b)``: products of batches of matrices."""
    a, b = request.stored("a"), request.stored("b")
    if len(a.shape) != 3 or len(b.shape) != 3:
        raise request.error(
            f"two arrays of three dimensions are needed, not {arrays.show(a.shape)} and "
            f"{arrays.show(b.shape)}."
        )
    return _product(request, a, b)


def _product(request: Request, a: View, b: View) -> Value:
    """The matrix product over the last two axes, the others broadcast."""
    if len(a.shape) < 2 or len(b.shape) < 2 or a.shape[-1] != b.shape[-2]:
        raise request.error(
            f"shapes {arrays.show(a.shape)} and {arrays.show(b.shape)} do not fit: the last extent of "
            "the first must be the last but one of the second."
        )
    batch = arrays.broadcast_shape([a.shape[:-2], b.shape[:-2]], request.place, "Cannot multiply")
    shape = (*batch, a.shape[-2], b.shape[-1])
    rules, place = request.ctx.rules, request.place

    def update(old: Expr, i: Indices, r: Indices) -> Expr:
        left = _batched(a, i[:-2], (i[-2], r[0]))
        right = _batched(b, i[:-2], (r[0], i[-1]))
        return _add(request, old, ops.binary(rules, "*", left, right, place))

    return _accumulate(request, shape, a.shape[-1:], a.dtype, _zero(a.dtype), update)


def _batched(value: View, batch: Indices, last: Indices) -> Expr:
    own = batch[len(batch) - (len(value.shape) - 2) :] if len(value.shape) > 2 else ()
    fixed = tuple(
        constant(0) if extent == 1 else i for extent, i in zip(value.shape[:-2], own, strict=True)
    )
    return value.element((*fixed, *last))


def linear(request: Request) -> Value:
    """``allo.linear(x, weight, bias)``: ``x`` times the transposed ``weight``, plus ``bias``."""
    x, weight = request.stored("x"), request.stored("weight")
    if len(weight.shape) != 2 or len(x.shape) < 2 or x.shape[-1] != weight.shape[-1]:
        raise request.error(
            f"shapes {arrays.show(x.shape)} and {arrays.show(weight.shape)} do not fit: their last "
            "extents must be equal."
        )
    product = _product(request, x, arrays.transposed(weight, (1, 0), request.place))
    if is_none(request.nodes.get("bias")):
        return product
    bias = request.array("bias")
    total = arrays.elementwise(
        [product, bias], lambda v: _add(request, v[0], v[1]), request.place, "Cannot apply '+'"
    )
    return arrays.cast_array(total, x.dtype, request.place)


# --- windows ---------------------------------------------------------------------------------------


def window_extents(
    request: Request, image: Sequence[int], window: Sequence[int]
) -> tuple[int, int]:
    """Height and width of what a window gives that moves over an image by steps of 1."""
    extents = tuple(a - b + 1 for a, b in zip(image, window, strict=True))
    if min(extents) < 1:
        raise request.error(
            f"the window {arrays.show(window)} is larger than the image {arrays.show(image)}."
        )
    return extents[0], extents[1]


def pool(combine: str) -> Callable[[Request], Value]:
    """The handler of ``allo.maxpool`` or ``allo.sumpool``."""

    def compute(request: Request) -> Value:
        image, window = request.stored("inp"), request.array("window")
        if len(image.shape) != 4 or len(window.shape) != 2:
            raise request.error(
                f"an NCHW array and a window of two dimensions are needed, not "
                f"{arrays.show(image.shape)} and {arrays.show(window.shape)}."
            )
        height, width = window_extents(request, image.shape[2:], window.shape)
        shape = (*image.shape[:2], height, width)

        def update(old: Expr, i: Indices, r: Indices) -> Expr:
            place = (arrays.plus(i[2], r[0]), arrays.plus(i[3], r[1]))
            value = image.element((i[0], i[1], *place))
            if combine == "+":
                return _add(request, old, value)
            return ops.min_max(request.ctx.rules, "max", [old, value], request.place)

        start = _zero(image.dtype) if combine == "+" else lowest(image.dtype)
        return _accumulate(request, shape, window.shape, image.dtype, start, update)

    return compute


def lowest(dtype: AlloType) -> int | float:
    """The least value of a type: what a maximum starts from."""
    if isinstance(dtype, Float):
        return float("-inf")
    return -(1 << (dtype.bits - 1)) if isinstance(dtype, (Int, Fixed, Index)) else 0
