"""allo's functions on whole arrays, lowered to loops."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from allo.dialects.diagnostics import ShapeMismatchError, SourcePlace, TypeMismatchError
from allo.dialects.types import AlloType, Float, Index, Int, UInt

from .. import operations as ops
from ..affine import Affine, constant
from ..tree import Const, Expr, Load, Math, Store, Subscript, Var
from . import arrays, expressions
from .arrays import ArrayValue, Generated, Indices, Value, View
from .context import FunctionContext, as_int

_EPSILON = 1e-5
_GELU_SCALE, _GELU_CUBE = 0.797885, 0.044715


@dataclass(slots=True)
class Request:
    """A call of one of the functions, its arguments by parameter name."""

    ctx: FunctionContext
    node: ast.Call
    function: str
    nodes: dict[str, ast.expr]
    band: str | None

    @property
    def place(self) -> SourcePlace:
        return self.ctx.place(self.node)

    def array(self, name: str) -> ArrayValue:
        """An argument that must be an array."""
        value = expressions.expression(self.ctx, self.nodes[name])
        if isinstance(value, ArrayValue):
            return value
        raise TypeMismatchError(
            f"allo.{self.function} needs an array for {name}, not a scalar {value.dtype}.",
            self.ctx.place(self.nodes[name]),
        )

    def stored(self, name: str) -> View:
        """An array argument that is read many times: computed first unless it is a variable."""
        value = self.array(name)
        if isinstance(value, View):
            return value
        return arrays.whole(arrays.fresh_copy(self.ctx, value, name, value.dtype), value.place)

    def error(self, message: str, help: str | None = None) -> ShapeMismatchError:
        return ShapeMismatchError(f"allo.{self.function}: {message}", self.place, help=help)


def bind(ctx: FunctionContext, node: ast.Call, dsl_function: Any) -> Request:
    """Match a call's arguments with the parameters of the function of ``allo.dsl``."""
    parameters, function = _parameters(dsl_function), dsl_function.__allo_dsl__
    names = [n for n in parameters if n != "name"]
    given: dict[str, ast.expr] = dict(zip(names, node.args, strict=False))
    band = None
    for keyword in node.keywords:
        if keyword.arg == "name":
            band = ctx.constant(keyword.value, "The name of an operation")
        elif keyword.arg in names and keyword.arg is not None:
            given[keyword.arg] = keyword.value
        else:
            raise expressions.type_error(
                ctx,
                keyword.value,
                f"allo.{function}() has no argument {keyword.arg!r}.",
                f"its arguments: {', '.join(names)}.",
            )
    needed = [n for n in names if parameters[n].default is inspect.Parameter.empty]
    if len(node.args) > len(names) or any(n not in given for n in needed):
        count = len(needed)
        noun = "argument" if count == 1 else "arguments"
        raise expressions.type_error(
            ctx, node, f"allo.{function}() takes {count} {noun}, not {len(node.args)}."
        )
    return Request(ctx, node, function, given, band)


@lru_cache(maxsize=64)
def _parameters(function: Any) -> Mapping[str, inspect.Parameter]:
    return inspect.signature(function).parameters


def dsl_call(ctx: FunctionContext, node: ast.Call, function: Any) -> Value:
    """A call of one of allo's whole-array functions."""
    name = function.__allo_dsl__
    handler = _HANDLERS.get(name)
    if handler is None:
        raise ctx.unsupported(
            node, f"allo.{name} cannot be used here.", "it belongs in a for or with statement."
        )
    return handler(bind(ctx, node, function))


# --- element by element --------------------------------------------------------------------------


def _arithmetic(symbol: str) -> Callable[[Request], Value]:
    """``allo.add`` and its kin: the result has the first argument's element type."""

    def compute(request: Request) -> Value:
        ctx, place = request.ctx, request.place
        values = [expressions.expression(ctx, request.nodes[n]) for n in ("a", "b")]
        if not any(isinstance(v, ArrayValue) for v in values):
            raise request.error(
                "at least one argument must be an array.", f"for scalars write a {symbol} b."
            )
        result = expressions.apply_binary(ctx, symbol, values[0], values[1], place)
        assert isinstance(result, ArrayValue)
        return arrays.cast_array(result, values[0].dtype, place)

    return compute


def _relu(request: Request) -> Value:
    value = expressions.expression(request.ctx, request.nodes["x"])
    place = request.place

    def compute(v: Expr) -> Expr:
        zero = Const(v.dtype, place, 0.0 if isinstance(v.dtype, Float) else 0)
        return ops.min_max(request.ctx.rules, "max", [v, zero], place)

    return _each(request, value, compute)


def _each(request: Request, value: Value, compute: Callable[[Expr], Expr]) -> Value:
    if not isinstance(value, ArrayValue):
        return compute(value)
    return arrays.elementwise(
        request.ctx, [value], lambda v: compute(v[0]), request.place, request.function
    )


def _gelu(request: Request) -> Value:
    value = expressions.expression(request.ctx, request.nodes["x"])
    _require_float(request, value)
    place, rules = request.place, request.ctx.rules

    def compute(x: Expr) -> Expr:
        def number(v: float) -> Const:
            return Const(x.dtype, place, v)

        def times(a: Expr, b: Expr) -> Expr:
            return ops.binary(rules, "*", a, b, place)

        def plus(a: Expr, b: Expr) -> Expr:
            return ops.binary(rules, "+", a, b, place)

        cube = times(x, times(x, x))
        inner = times(number(_GELU_SCALE), plus(x, times(number(_GELU_CUBE), cube)))
        tanh = Math(x.dtype, place, "tanh", (inner,))
        return times(times(number(0.5), x), plus(number(1.0), tanh))

    return _each(request, value, compute)


def _require_float(request: Request, value: Value) -> None:
    if not isinstance(value.dtype, Float):
        raise TypeMismatchError(
            f"allo.{request.function} needs floats, not {value.dtype}.",
            request.place,
            help="declare the array as float32.",
        )


# --- shapes ----------------------------------------------------------------------------------------


def _copy(request: Request) -> Value:
    value = request.array("x")
    var = arrays.fresh_copy(request.ctx, value, "", value.dtype)
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
    var = _result(request, first.dtype, shape)
    for start, part in ((0, first), (first.shape[axis], second)):
        selectors = tuple(
            arrays.Along(constant(start if d == axis else 0), 1, d) for d in range(rank)
        )
        target = View(var, selectors, part.shape, place)
        arrays.store(ctx, target, part, place)
    return arrays.whole(var, place)


def _result(request: Request, dtype: AlloType, shape: Sequence[int]) -> Var:
    """A fresh array the caller may name."""
    var = arrays.new_local(request.ctx, "", dtype, shape, request.place)
    var.kind = "result"
    return var


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
        dtype = ctx.constant(request.nodes["dtype"], "dtype")
        if not isinstance(dtype, (Int, UInt, Float)):
            raise TypeMismatchError(
                f"Unsupported dtype {dtype!r}.", ctx.place(request.nodes["dtype"])
            )
        value = Const(dtype, place, float(number) if isinstance(dtype, Float) else number)
        return Generated(dtype, shape, place, (), lambda indices: value)

    return compute


# --- sums of products -------------------------------------------------------------------------------


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
    var = _result(request, dtype, shape)
    first = Const(dtype, place, start)
    arrays.store(ctx, arrays.whole(var, place), first, place)

    def outer(i: Indices) -> None:
        def inner(r: Indices) -> None:
            old = Load(dtype, place, var, i)
            ctx.emit(Store(place, var, i, ops.cast(update(old, i, r), dtype, place)))

        arrays.loop_nest(ctx, reduced, place, inner, prefix="r", reduction=True)

    arrays.loop_nest(ctx, shape, place, outer, op_name=request.band)
    return arrays.whole(var, place)


def _zero(dtype: AlloType) -> int | float:
    return 0.0 if isinstance(dtype, Float) else 0


def matmul(ctx: FunctionContext, values: Sequence[Value], place: SourcePlace) -> Value:
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
    return arrays.whole(arrays.fresh_copy(ctx, value, "operand", value.dtype), value.place)


def _matmul(request: Request) -> Value:
    return _product(request, request.stored("a"), request.stored("b"))


def _bmm(request: Request) -> Value:
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


def _linear(request: Request) -> Value:
    x, weight = request.stored("x"), request.stored("weight")
    if len(weight.shape) != 2 or len(x.shape) < 2 or x.shape[-1] != weight.shape[-1]:
        raise request.error(
            f"shapes {arrays.show(x.shape)} and {arrays.show(weight.shape)} do not fit: their last "
            "extents must be equal."
        )
    product = _product(request, x, arrays.transposed(weight, (1, 0), request.place))
    if "bias" not in request.nodes or _is_none(request.nodes["bias"]):
        return product
    bias = request.array("bias")
    total = expressions.apply_binary(request.ctx, "+", product, bias, request.place)
    assert isinstance(total, ArrayValue)
    return arrays.cast_array(total, x.dtype, request.place)


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


# --- windows ---------------------------------------------------------------------------------------


def _conv2d(request: Request) -> Value:
    image, weight = request.stored("inp"), request.stored("weight")
    if len(image.shape) != 4 or len(weight.shape) != 4 or image.shape[1] != weight.shape[1]:
        raise request.error(
            f"NCHW and FCHW arrays with equal C are needed, not {arrays.show(image.shape)} and "
            f"{arrays.show(weight.shape)}."
        )
    height, width = _window_extents(request, image.shape[2:], weight.shape[2:])
    shape = (image.shape[0], weight.shape[0], height, width)
    rules, place = request.ctx.rules, request.place

    def update(old: Expr, i: Indices, r: Indices) -> Expr:
        n, f, h, w = i
        c, y, x = r
        pixel = image.element((n, c, arrays.plus(h, y), arrays.plus(w, x)))
        return _add(
            request, old, ops.binary(rules, "*", pixel, weight.element((f, c, y, x)), place)
        )

    return _accumulate(request, shape, weight.shape[1:], image.dtype, _zero(image.dtype), update)


def _window_extents(
    request: Request, image: Sequence[int], window: Sequence[int]
) -> tuple[int, int]:
    extents = tuple(a - b + 1 for a, b in zip(image, window, strict=True))
    if min(extents) < 1:
        raise request.error(
            f"the window {arrays.show(window)} is larger than the image {arrays.show(image)}."
        )
    return extents[0], extents[1]


def _pool(combine: str) -> Callable[[Request], Value]:
    def compute(request: Request) -> Value:
        image, window = request.stored("inp"), request.array("window")
        if len(image.shape) != 4 or len(window.shape) != 2:
            raise request.error(
                f"an NCHW array and a window of two dimensions are needed, not "
                f"{arrays.show(image.shape)} and {arrays.show(window.shape)}."
            )
        height, width = _window_extents(request, image.shape[2:], window.shape)
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
    return -(1 << (dtype.bits - 1)) if isinstance(dtype, (Int, Index)) else 0


# --- rows ----------------------------------------------------------------------------------------------


def _softmax(request: Request) -> Value:
    """exp(x − max) over its sum, along the last axis."""
    x = request.stored("x")
    _require_float(request, x)
    ctx, place, rules = request.ctx, request.place, request.ctx.rules
    rows, length = x.shape[:-1], x.shape[-1:]

    def largest(old: Expr, i: Indices, r: Indices) -> Expr:
        return ops.min_max(rules, "max", [old, x.element((*i, *r))], place)

    top = _accumulate(request, rows, length, x.dtype, lowest(x.dtype), largest)
    powers = _result(request, x.dtype, x.shape)
    difference = Generated(
        x.dtype,
        x.shape,
        place,
        (x, top),
        lambda i: Math(
            x.dtype,
            place,
            "exp",
            (ops.binary(rules, "-", x.element(i), top.element(i[:-1]), place),),
        ),
    )
    arrays.store(ctx, arrays.whole(powers, place), difference, place)
    power = arrays.whole(powers, place)
    total = _accumulate(
        request,
        rows,
        length,
        x.dtype,
        0.0,
        lambda old, i, r: _add(request, old, power.element((*i, *r))),
    )
    return Generated(
        x.dtype,
        x.shape,
        place,
        (power, total),
        lambda i: ops.binary(rules, "/", power.element(i), total.element(i[:-1]), place),
    )


def _layernorm(request: Request) -> Value:
    """Mean and variance of the last axis, then scale and shift."""
    x, gamma, beta = request.stored("x"), request.array("gamma"), request.array("beta")
    _require_float(request, x)
    length = x.shape[-1:]
    if gamma.shape != length or beta.shape != length:
        raise request.error(
            f"gamma and beta must have shape {arrays.show(length)}, not {arrays.show(gamma.shape)} and "
            f"{arrays.show(beta.shape)}."
        )
    place, rules = request.place, request.ctx.rules

    def apply(op: str, a: Expr, b: Expr) -> Expr:
        return ops.binary(rules, op, a, b, place)

    count = Const(x.dtype, place, float(length[0]))
    total = _accumulate(
        request,
        x.shape[:-1],
        length,
        x.dtype,
        0.0,
        lambda old, i, r: _add(request, old, x.element((*i, *r))),
    )
    mean = _stored_quotient(request, total, count)

    def squared(old: Expr, i: Indices, r: Indices) -> Expr:
        centred = apply("-", x.element((*i, *r)), mean.element(i))
        return _add(request, old, apply("*", centred, centred))

    variance = _stored_quotient(
        request, _accumulate(request, x.shape[:-1], length, x.dtype, 0.0, squared), count
    )
    epsilon = Const(x.dtype, place, _EPSILON)

    def element(i: Indices) -> Expr:
        centred = apply("-", x.element(i), mean.element(i[:-1]))
        deviation = Math(x.dtype, place, "sqrt", (apply("+", variance.element(i[:-1]), epsilon),))
        scaled = apply("/", apply("*", gamma.element(i[-1:]), centred), deviation)
        return apply("+", scaled, beta.element(i[-1:]))

    return Generated(x.dtype, x.shape, place, (x, mean, variance, gamma, beta), element)


def _stored_quotient(request: Request, total: View, count: Const) -> View:
    quotient = arrays.elementwise(
        request.ctx,
        [total],
        lambda v: ops.binary(request.ctx.rules, "/", v[0], count, request.place),
        request.place,
        request.function,
    )
    arrays.store(request.ctx, total, quotient, request.place)
    return total


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
    "matmul": _matmul,
    "bmm": _bmm,
    "linear": _linear,
    "conv2d": _conv2d,
    "maxpool": _pool("max"),
    "sumpool": _pool("+"),
    "softmax": _softmax,
    "layernorm": _layernorm,
}
