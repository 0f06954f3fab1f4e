"""allo's functions on whole arrays, lowered to loops."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any

from allo.dialects.diagnostics import TypeMismatchError
from allo.dialects.text.shown import shown
from allo.dialects.types import AlloType, Fixed, Float, Int, UFixed, UInt, as_type
from allo.frontend.affine import Affine, constant
from allo.frontend.elaborate import dispatch
from allo.frontend.elaborate.arrays import layers, library, reductions, stores
from allo.frontend.elaborate.arrays import lazy as arrays
from allo.frontend.elaborate.arrays.lazy import Along, ArrayValue, Generated, Indices, Value, View
from allo.frontend.elaborate.arrays.requests import Request, bind, new_result, require_float
from allo.frontend.elaborate.context import FunctionContext, as_int
from allo.frontend.elaborate.expressions import operators
from allo.frontend.rules import operations as ops
from allo.frontend.tree import Const, Expr, Subscript


def dsl_call(ctx: FunctionContext, node: ast.Call, function: Any) -> Value:
    """A call of one of allo's whole-array functions."""
    name = function.__allo_dsl__
    handler = _HANDLERS.get(name)
    if handler is None:
        raise ctx.unsupported(
            node, f"allo.{name} cannot be used here.", "it belongs in a for or with statement."
        )
    request = bind(ctx, node, function)
    return request.named(handler(request))


# --- element by element --------------------------------------------------------------------------


def _arithmetic(symbol: str) -> Callable[[Request], Value]:
    """``allo.add`` and its kin: the result has the element type of the first array that is no literal."""

    def compute(request: Request) -> Value:
        ctx, place = request.ctx, request.place
        values = [dispatch.expression(ctx, request.nodes[n]) for n in ("a", "b")]
        if not any(isinstance(v, ArrayValue) for v in values):
            raise request.error(
                "at least one argument must be an array.", f"for scalars write a {symbol} b."
            )
        result = operators.apply_binary(ctx, symbol, values[0], values[1], place)
        assert isinstance(result, ArrayValue)
        return arrays.cast_array(result, _element_type(request, values), place)

    return compute


def _element_type(request: Request, values: Sequence[Value]) -> AlloType:
    """That of the first array; a number or a list written out has none of its own to give."""
    given = [v for v in values if isinstance(v, ArrayValue)]
    literal = (ast.List, ast.Tuple)
    own = [
        v
        for v, name in zip(values, ("a", "b"), strict=True)
        if isinstance(v, ArrayValue) and not isinstance(request.nodes[name], literal)
    ]
    return (own or given)[0].dtype


def _relu(request: Request) -> Value:
    value = dispatch.expression(request.ctx, request.nodes["x"])
    place = request.place

    def compute(v: Expr) -> Expr:
        zero = Const(v.dtype, place, 0.0 if isinstance(v.dtype, Float) else 0)
        return ops.min_max(request.ctx.rules, "max", [v, zero], place)

    return _each(request, value, compute)


def _each(request: Request, value: Value, compute: Callable[[Expr], Expr]) -> Value:
    if not isinstance(value, ArrayValue):
        return compute(value)
    return arrays.elementwise([value], lambda v: compute(v[0]), request.place, request.function)


def _gelu(request: Request) -> Value:
    value = dispatch.expression(request.ctx, request.nodes["x"])
    require_float(request, value)
    return _each(request, value, lambda x: library.scalar(request, "activation.gelu", x))


# --- shapes ----------------------------------------------------------------------------------------


def _copy(request: Request) -> Value:
    value = request.array("x")
    var = stores.fresh_copy(request.ctx, value, "", value.dtype)
    var.kind = "result"
    return arrays.whole(var, request.place)


def _transpose(request: Request) -> Value:
    value = request.stored("x")
    rank = len(value.shape)
    axes: Sequence[int] = tuple(reversed(range(rank)))
    if "axes" in request.nodes:
        axes = _integers(request, "axes")
    if sorted(axes) != list(range(rank)):
        raise request.error(f"axes must be a permutation of 0 … {rank - 1}, not {tuple(axes)}.")
    return arrays.transposed(value, axes, request.place)


def _integers(request: Request, name: str) -> tuple[int, ...]:
    value = request.ctx.constant(request.nodes[name], f"{name} of allo.{request.function}")
    parts = value if isinstance(value, (tuple, list)) else (value,)
    numbers = [as_int(p) for p in parts]
    if any(n is None for n in numbers):
        raise request.error(f"{name} must be integers, not {value!r}.")
    return tuple(n for n in numbers if n is not None)


def _view(request: Request) -> Value:
    value, shape = request.stored("x"), _integers(request, "shape")
    if arrays.total(shape) != arrays.total(value.shape):
        raise request.error(
            f"an array of shape {arrays.show(value.shape)} has {arrays.total(value.shape)} elements; "
            f"{arrays.show(shape)} would have {arrays.total(shape)}."
        )
    place = request.place

    def element(indices: Indices) -> Expr:
        flat: Subscript = Affine()
        for index, extent in zip(indices, shape, strict=True):
            flat = arrays.plus(arrays.scaled(flat, extent), index)
        assert isinstance(flat, Affine)
        own: list[Affine] = []
        for extent in reversed(value.shape[1:]):
            own.append(flat.mod(extent))
            flat = flat.floordiv(extent)
        own.append(flat)
        return value.element(tuple(reversed(own)))

    return Generated(value.dtype, shape, place, (value,), element)


def _concat(request: Request) -> Value:
    first, second = request.array("x"), request.array("y")
    axis = _integers(request, "axis")[0] if "axis" in request.nodes else 0
    rank = len(first.shape)
    same = len(second.shape) == rank and all(
        a == b for d, (a, b) in enumerate(zip(first.shape, second.shape, strict=False)) if d != axis
    )
    if not (0 <= axis < rank and same):
        raise request.error(
            f"shapes {arrays.show(first.shape)} and {arrays.show(second.shape)} cannot be joined "
            f"along axis {axis}."
        )
    extent = first.shape[axis] + second.shape[axis]
    shape = (*first.shape[:axis], extent, *first.shape[axis + 1 :])
    ctx, place = request.ctx, request.place
    var = new_result(request, first.dtype, shape)
    for start, part in ((0, first), (first.shape[axis], second)):
        selectors = tuple(Along(constant(start if d == axis else 0), 1, d) for d in range(rank))
        target = View(var, selectors, part.shape, place)
        stores.store(ctx, target, part, place)
    return arrays.whole(var, place)


def _tril(request: Request) -> Value:
    value = request.array("x")
    if len(value.shape) != 2:
        raise request.error(
            f"a matrix is needed, not an array of shape {arrays.show(value.shape)}."
        )
    place = request.place
    zero = Const(value.dtype, place, 0.0 if isinstance(value.dtype, Float) else 0)

    def element(indices: Indices) -> Expr:
        row, column = (arrays.as_expr(i, place) for i in indices)
        below = ops.compare(request.ctx.rules, ">=", row, column, place)
        return ops.select(request.ctx.rules, below, value.element(indices), zero, place)

    return Generated(value.dtype, value.shape, place, (value,), element)


def _filled(number: int) -> Callable[[Request], Value]:
    def compute(request: Request) -> Value:
        ctx, place = request.ctx, request.place
        shape = _integers(request, "shape")
        if "dtype" not in request.nodes:
            raise request.error("dtype= is needed.", "for example dtype=float32.")
        given = ctx.constant(request.nodes["dtype"], "dtype")
        dtype = as_type(given)
        if not isinstance(dtype, (Int, UInt, Float, Fixed, UFixed)):
            raise TypeMismatchError(
                f"Unsupported dtype {shown(given)}.",
                ctx.place(request.nodes["dtype"]),
                help="use a type of allo.ir.types, as int32 or float32.",
            )
        first = float(number) if isinstance(dtype, Float) else number << dtype.fracs
        value = Const(dtype, place, first)
        return Generated(dtype, shape, place, (), lambda indices: value)

    return compute


_HANDLERS: dict[str, Callable[[Request], Any]] = {
    "add": _arithmetic("+"),
    "sub": _arithmetic("-"),
    "mul": _arithmetic("*"),
    "div": _arithmetic("/"),
    "relu": _relu,
    "gelu": _gelu,
    "copy": _copy,
    "transpose": _transpose,
    "view": _view,
    "concat": _concat,
    "tril": _tril,
    "ones": _filled(1),
    "zeros": _filled(0),
    "matmul": reductions.matmul,
    "bmm": reductions.bmm,
    "linear": reductions.linear,
    "conv2d": layers.conv2d,
    "maxpool": reductions.pool("max"),
    "sumpool": reductions.pool("+"),
    "softmax": layers.softmax,
    "layernorm": layers.layernorm,
}
