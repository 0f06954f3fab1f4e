"""The functions of ``allo`` on whole arrays."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from allo.dialects.diagnostics import (
    CompileTimeError,
    ShapeMismatchError,
    TypeMismatchError,
    UnsupportedSyntaxError,
)
from allo.dialects.types import AlloType, Float, float32

from ..body import Body
from ..known import as_type
from ..running.arrays import size_of
from .meaning import cast
from .scalars import binary, coerce, extreme
from .tensors import broadcast, joined_shape, static_shape, transposed
from .values import Value, literal


def call(body: Body, name: str, node: ast.Call) -> Value:
    """The value of ``allo.name(…)``."""
    form = _FUNCTIONS.get(name)
    if form is None:
        raise UnsupportedSyntaxError(f"allo.{name} has no meaning here.", body.place(node))
    given = {str(k.arg): k.value for k in node.keywords if k.arg != "name"}
    return form(body, node, given)


def _arrays(
    body: Body, node: ast.Call, given: dict[str, ast.expr], *names: str, optional: int = 0
) -> list[Value]:
    """The arguments by position or keyword; those not given are left out at the end."""
    values = [body.expression(argument) for argument in node.args]
    for name in names[len(values) :]:
        if name in given:
            values.append(body.expression(given[name]))
    if not len(names) - optional <= len(values) <= len(names):
        raise TypeMismatchError(
            f"This takes {', '.join(names)}: {len(values)} arguments are given.", body.place(node)
        )
    return values


def _one_array(body: Body, node: ast.Call, given: dict[str, ast.expr]) -> Value:
    (value,) = _arrays(body, node, given, "x")
    if not value.is_array:
        raise ShapeMismatchError("An array is needed here.", body.place(node))
    return value


def operation(body: Body, symbol: str, left: Value, right: Value, node: ast.AST) -> Value:
    """``left symbol right`` on scalars, with a message where no rule joins the types."""
    found = binary(symbol, left, right)
    if found is None:
        raise TypeMismatchError(
            f"No rule gives {left.dtype} {symbol} {right.dtype} a type.", body.place(node)
        )
    return found


# --- element by element ----------------------------------------------------------------------------


def _elementwise(symbol: str) -> Callable[..., Value]:
    def apply(body: Body, node: ast.Call, given: dict[str, ast.expr]) -> Value:
        left, right = _arrays(body, node, given, "a", "b")
        arrays = [v for v in (left, right) if v.is_array and not v.literal]
        if not (left.is_array or right.is_array):
            raise ShapeMismatchError(
                "At least one argument must be an array.",
                body.place(node),
                help=f"for scalars write a {symbol} b.",
            )
        dtype = (arrays or [left])[0].dtype

        def one(a: Value, b: Value) -> Value:
            value = operation(body, symbol, a, b, node)
            return Value(dtype, cast(body, value, dtype, node))

        return broadcast(body, one, node, left, right)

    return apply


def _relu(body: Body, node: ast.Call, given: dict[str, ast.expr]) -> Value:
    (value,) = _arrays(body, node, given, "x")

    def one(a: Value) -> Value:
        found = extreme("max", Value(a.dtype, coerce(a, a.dtype)), _zero(a.dtype))
        return a if found is None else found

    return broadcast(body, one, node, value) if value.is_array else one(value)


def _zero(dtype: AlloType) -> Value:
    return Value(dtype, "0.0" if isinstance(dtype, Float) else "0")


def _float_of(body: Body, value: Value, node: ast.AST) -> str:
    if not isinstance(value.dtype, Float):
        raise TypeMismatchError(f"This takes floats, not {value.dtype}.", body.place(node))
    body.program.inexact = True
    return value.dtype.name


def _gelu(body: Body, node: ast.Call, given: dict[str, ast.expr]) -> Value:
    (value,) = _arrays(body, node, given, "x")
    name = _float_of(body, value, node)

    def one(x: Value) -> Value:
        def op(symbol: str, a: Value, b: Value) -> Value:
            return operation(body, symbol, a, b, node)

        cube = op("*", op("*", op("*", literal(0.044715), x), x), x)
        inner = op("*", literal(0.797885), op("+", x, cube))
        bent = Value(x.dtype, f"tanh_{name}({coerce(inner, x.dtype)})")
        result = op("*", op("*", literal(0.5), x), op("+", literal(1.0), bent))
        return Value(x.dtype, cast(body, result, x.dtype, node))

    return broadcast(body, one, node, value) if value.is_array else one(value)


# --- products ------------------------------------------------------------------------------------------


def _step(body: Body, left: Value, right: Value, dtype: AlloType, node: ast.AST) -> str:
    """Text of ``total += a * b``."""
    product = operation(body, "*", Value(left.dtype, "a"), Value(right.dtype, "b"), node)
    total = operation(body, "+", Value(dtype, "total"), product, node)
    return f"lambda total, a, b: {cast(body, total, dtype, node)}"


def matmul(body: Body, left: Value, right: Value, node: ast.AST) -> Value:
    """``left @ right``: two matrices, or equal batches of them."""
    one, two = static_shape(body, left, node), static_shape(body, right, node)
    if len(one) < 2 or len(two) < 2 or one[-1] != two[-2]:
        raise ShapeMismatchError(
            f"Matrices of shape {list(one)} and {list(two)} have no product.", body.place(node)
        )
    batch = joined_shape(
        body, node, Value(left.dtype, shape=one[:-2]), Value(right.dtype, shape=two[:-2])
    )
    shape = (*batch, one[-2], two[-1])
    step = _step(body, left, right, left.dtype, node)
    place = body.place_code(node)
    code = (
        f"matrix_product(checked({place}, {left.array_code()}), "
        f"checked({place}, {right.array_code()}), {step}, "
        f"{_zero(left.dtype).code}, {shape})"
    )
    return Value(left.dtype, code, shape=shape)


def _matmul(body: Body, node: ast.Call, given: dict[str, ast.expr]) -> Value:
    left, right = _arrays(body, node, given, "a", "b")
    return matmul(body, left, right, node)


def _bmm(body: Body, node: ast.Call, given: dict[str, ast.expr]) -> Value:
    left, right = _arrays(body, node, given, "a", "b")
    if len(left.shape or ()) != 3 or len(right.shape or ()) != 3:
        raise ShapeMismatchError("bmm takes two arrays of three dimensions.", body.place(node))
    return matmul(body, left, right, node)


def _linear(body: Body, node: ast.Call, given: dict[str, ast.expr]) -> Value:
    values = _arrays(body, node, given, "x", "weight", "bias", optional=1)
    x, weight = values[0], values[1]
    flipped = transposed(body, weight, None, node)
    shape = static_shape(body, x, node)
    flat = Value(
        x.dtype,
        f"Array({x.array_code()}.elements(), {(size_of(shape[:-1]), shape[-1])})",
        shape=(size_of(shape[:-1]), shape[-1]),
    )
    product = matmul(body, flat, flipped, node)
    columns = (product.shape or (0,))[-1]
    result = (*shape[:-1], int(columns))
    total = Value(x.dtype, f"Array({product.code}.data, {result})", shape=result)
    if len(values) == 2:
        return total

    def one(a: Value, b: Value) -> Value:
        value = operation(body, "+", a, b, node)
        return Value(x.dtype, cast(body, value, x.dtype, node))

    return broadcast(body, one, node, total, values[2])


def _conv2d(body: Body, node: ast.Call, given: dict[str, ast.expr]) -> Value:
    x, weight = _arrays(body, node, given, "inp", "weight")
    one, two = static_shape(body, x, node), static_shape(body, weight, node)
    if len(one) != 4 or len(two) != 4 or one[1] != two[1]:
        raise ShapeMismatchError("conv2d takes NCHW and FCHW.", body.place(node))
    shape = (one[0], two[0], one[2] - two[2] + 1, one[3] - two[3] + 1)
    step = _step(body, x, weight, x.dtype, node)
    place = body.place_code(node)
    code = (
        f"convolution(defined({place}, {x.array_code()}), "
        f"defined({place}, {weight.array_code()}), {one}, {shape}, {two}, {step}, "
        f"{_zero(x.dtype).code})"
    )
    return Value(x.dtype, code, shape=shape)


def _pool(name: str) -> Callable[..., Value]:
    def apply(body: Body, node: ast.Call, given: dict[str, ast.expr]) -> Value:
        x, window = _arrays(body, node, given, "inp", "window")
        one, two = static_shape(body, x, node), static_shape(body, window, node)
        if len(one) != 4 or len(two) != 2:
            raise ShapeMismatchError(f"{name} takes NCHW and a window.", body.place(node))
        shape = (*one[:2], one[2] - two[0] + 1, one[3] - two[1] + 1)
        a, b = Value(x.dtype, "a"), Value(x.dtype, "b")
        if name == "sumpool":
            found = cast(body, operation(body, "+", a, b, node), x.dtype, node)
        else:
            found = coerce(extreme("max", a, b) or a, x.dtype)
        code = (
            f"pool(defined({body.place_code(node)}, {x.array_code()}), {one}, {shape}, {two}, "
            f"lambda a, b: {found})"
        )
        return Value(x.dtype, code, shape=shape)

    return apply


# --- rows ------------------------------------------------------------------------------------------------


def _softmax(body: Body, node: ast.Call, given: dict[str, ast.expr]) -> Value:
    value = _one_array(body, node, given)
    name = _float_of(body, value, node)
    shape = static_shape(body, value, node)
    code = f"softmax(defined({body.place_code(node)}, {value.array_code()}), {shape}, {name!r})"
    return Value(value.dtype, code, shape=shape)


def _layernorm(body: Body, node: ast.Call, given: dict[str, ast.expr]) -> Value:
    plain = ast.Call(node.func, node.args[:3], [])
    values = _arrays(body, ast.copy_location(plain, node), given, "x", "gamma", "beta")
    name = _float_of(body, values[0], node)
    shape = static_shape(body, values[0], node)
    eps_node = node.args[3] if len(node.args) == 4 else given.get("eps")
    eps = 1e-5 if eps_node is None else float(body.evaluate(eps_node, "eps"))
    place = body.place_code(node)
    parts = ", ".join(f"defined({place}, {v.array_code()})" for v in values)
    return Value(values[0].dtype, f"layer_norm({parts}, {shape}, {eps!r}, {name!r})", shape=shape)


# --- shapes ------------------------------------------------------------------------------------------------


def _copy(body: Body, node: ast.Call, given: dict[str, ast.expr]) -> Value:
    value = _one_array(body, node, given)
    return Value(value.dtype, f"{value.array_code()}.copy()", shape=value.shape)


def _known_tuple(body: Body, node: ast.expr, what: str) -> tuple[int, ...]:
    value = body.evaluate(node, what)
    return tuple(int(v) for v in value) if isinstance(value, (tuple, list)) else (int(value),)


def _transpose(body: Body, node: ast.Call, given: dict[str, ast.expr]) -> Value:
    axes = node.args[1] if len(node.args) == 2 else given.get("axes")
    order = None if axes is None else _known_tuple(body, axes, "The axes")
    value = body.expression(node.args[0])
    if not value.is_array:
        raise ShapeMismatchError("An array is needed here.", body.place(node))
    return transposed(body, value, order, node)


def _view(body: Body, node: ast.Call, given: dict[str, ast.expr]) -> Value:
    value = body.expression(node.args[0])
    wanted = node.args[1] if len(node.args) == 2 else given.get("shape")
    if wanted is None:
        raise ShapeMismatchError("view needs a shape.", body.place(node))
    shape = _known_tuple(body, wanted, "The shape of a view")
    if size_of(shape) != size_of(static_shape(body, value, node)):
        raise ShapeMismatchError(
            f"A view of shape {list(shape)} has another number of elements than {value.shape}.",
            body.place(node),
        )
    return Value(value.dtype, f"Array({value.array_code()}.elements(), {shape})", shape=shape)


def _concat(body: Body, node: ast.Call, given: dict[str, ast.expr]) -> Value:
    axis_node = node.args[2] if len(node.args) == 3 else given.get("axis")
    axis = 0 if axis_node is None else int(body.evaluate(axis_node, "The axis"))
    left, right = body.expression(node.args[0]), body.expression(node.args[1])
    one, two = list(static_shape(body, left, node)), list(static_shape(body, right, node))
    axis = axis + len(one) if axis < 0 else axis
    total = [*one[:axis], 0, *one[axis + 1 :]]
    if len(one) != len(two) or axis >= len(one) or total != [*two[:axis], 0, *two[axis + 1 :]]:
        raise ShapeMismatchError(
            f"Arrays of shape {one} and {two} do not join along axis {axis}.", body.place(node)
        )
    total[axis] = one[axis] + two[axis]
    shape = tuple(total)
    function = f"lambda v: {cast(body, Value(right.dtype, 'v'), left.dtype, node)}"
    code = f"joined({left.array_code()}, copied({right.array_code()}, {function}), {axis}, {shape})"
    return Value(left.dtype, code, shape=shape)


def _tril(body: Body, node: ast.Call, given: dict[str, ast.expr]) -> Value:
    value = _one_array(body, node, given)
    shape = static_shape(body, value, node)
    if len(shape) < 2:
        raise ShapeMismatchError("tril takes a matrix.", body.place(node))
    code = f"lower_triangle({value.array_code()}.elements(), {shape}, {_zero(value.dtype).code})"
    return Value(value.dtype, code, shape=shape)


def _filled(number: int) -> Callable[..., Value]:
    def apply(body: Body, node: ast.Call, given: dict[str, ast.expr]) -> Value:
        wanted = node.args[0] if node.args else given.get("shape")
        if wanted is None:
            raise CompileTimeError("A shape is needed here.", body.place(node))
        shape = _known_tuple(body, wanted, "The shape")
        said = node.args[1] if len(node.args) == 2 else given.get("dtype")
        dtype: Any = float32 if said is None else as_type(body.evaluate(said, "dtype"))
        if dtype is None:
            raise CompileTimeError("dtype is no type.", body.place(node))
        code = coerce(literal(number), dtype)
        return Value(dtype, f"Array([{code}] * {size_of(shape)}, {shape})", shape=shape)

    return apply


_FUNCTIONS: dict[str, Callable[[Body, ast.Call, dict[str, ast.expr]], Value]] = {
    "add": _elementwise("+"),
    "sub": _elementwise("-"),
    "mul": _elementwise("*"),
    "div": _elementwise("/"),
    "relu": _relu,
    "gelu": _gelu,
    "matmul": _matmul,
    "bmm": _bmm,
    "linear": _linear,
    "conv2d": _conv2d,
    "maxpool": _pool("maxpool"),
    "sumpool": _pool("sumpool"),
    "softmax": _softmax,
    "layernorm": _layernorm,
    "copy": _copy,
    "transpose": _transpose,
    "view": _view,
    "concat": _concat,
    "tril": _tril,
    "ones": _filled(1),
    "zeros": _filled(0),
}
