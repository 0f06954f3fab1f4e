"""Whole arrays: operators element by element with broadcasting, and the functions of ``allo``."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

from allo.dialects.diagnostics import ShapeMismatchError

from ..body import Body
from .elements import viewed
from .scalars import coerce
from .values import Extent, Value, tuple_code


def static_shape(body: Body, value: Value, node: ast.AST) -> tuple[int, ...]:
    """The extents of an array, all known.

    Raises:
        ShapeMismatchError: when one is not.
    """
    shape = value.shape or ()
    known = tuple(extent for extent in shape if isinstance(extent, int))
    if len(known) != len(shape):
        raise ShapeMismatchError(
            "The shape of this array is not known while compiling.", body.place(node)
        )
    return known


def joined_shape(body: Body, node: ast.AST, *values: Value) -> tuple[int, ...]:
    """The shape that values broadcast to, as NumPy has it."""
    result: list[int] = []
    for value in values:
        shape = list(static_shape(body, value, node)) if value.is_array else []
        if len(shape) > len(result):
            result = [1] * (len(shape) - len(result)) + result
        for axis in range(1, len(shape) + 1):
            here, there = shape[-axis], result[-axis]
            if here != there and 1 not in (here, there):
                raise ShapeMismatchError(
                    "The shapes do not broadcast: "
                    + " and ".join(str(v.shape) for v in values if v.is_array)
                    + ".",
                    body.place(node),
                )
            result[-axis] = there if here == 1 else here
    return tuple(result)


def broadcast(
    body: Body, operation: Callable[..., Value], node: ast.AST, *operands: Value
) -> Value:
    """``operation`` on every element; its arguments and its result are scalars."""
    shape = joined_shape(body, node, *operands)
    names, codes, parts = [], [], []
    for operand in operands:
        if operand.exact is not None:
            parts.append(operand)
            continue
        name = body.temporary()
        names.append(name)
        codes.append(operand.array_code() if operand.is_array else operand.code)
        parts.append(Value(operand.dtype, name))
    result = operation(*parts)
    code = result.code
    if result.exact is not None:
        code = coerce(result, result.dtype)
    place = body.place_code(node)
    arguments = ", ".join([place, tuple_code(shape), f"lambda {', '.join(names)}: {code}", *codes])
    return Value(result.dtype, f"elementwise({arguments})", shape=shape)


def cast_function(source: Value, target_code: Callable[[Value], str]) -> str:
    """Text of a function that casts one element, or of None where nothing changes."""
    code = target_code(Value(source.dtype, "v"))
    return "None" if code == "v" else f"lambda v: {code}"


def permuted(value: Value, axes: Sequence[int]) -> tuple[Extent, ...]:
    """The extents with the axes in another order."""
    shape = value.shape or ()
    return tuple(shape[axis] for axis in axes)


def transposed(body: Body, value: Value, axes: Sequence[int] | None, node: ast.AST) -> Value:
    """The axes in another order."""
    shape = value.shape or ()
    order = tuple(range(len(shape)))[::-1] if axes is None else tuple(axes)
    if sorted(order) != list(range(len(shape))):
        raise ShapeMismatchError(
            f"The axes {order} are no permutation of {len(shape)} axes.", body.place(node)
        )
    viewed_value = viewed(body, value)
    data, offset, strides = viewed_value.view or ("", "", ())
    return Value(
        value.dtype,
        shape=permuted(value, order),
        view=(data, offset, tuple(strides[axis] for axis in order)),
        root=value.root,
        is_transposed=True,
    )
