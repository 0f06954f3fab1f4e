"""Arrays in Structs, where a Struct is one word: their elements, and words of them."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

import numpy as np

from allo.dialects.diagnostics import ShapeMismatchError, SourcePlace
from allo.dialects.types import Block, Struct
from allo.frontend.affine import Affine, constant
from allo.frontend.elaborate.arrays import lazy as arrays
from allo.frontend.elaborate.arrays.lazy import Along, ArrayValue, At, Generated, Value, View
from allo.frontend.elaborate.context import FunctionContext
from allo.frontend.elaborate.expressions import indexing
from allo.frontend.rules import operations as ops
from allo.frontend.rules import packing
from allo.frontend.tree import Const, Expr, Subscript, Var


def has_block(dtype: Struct) -> bool:
    """Whether an array is in a Struct, or in a Struct in it."""
    fields = [kind for kind in dtype.fields.values() if isinstance(kind, Struct)]
    return isinstance(dtype, Block) or any(map(has_block, fields))


def places(block: Block) -> Iterator[tuple[str, tuple[Affine, ...]]]:
    """The name and the subscripts of each element, in the order in which they lie."""
    for number, index in enumerate(np.ndindex(*block.shape)):
        yield str(number), tuple(constant(int(i)) for i in index)


def low_of(block: Block, indices: Sequence[Subscript], place: SourcePlace) -> Expr:
    """The lowest bit of an element."""
    flat: Subscript = constant(0)
    for extent, index in zip(block.shape, indices, strict=True):
        flat = arrays.plus(arrays.scaled(flat, extent), index)
    flat = arrays.scaled(flat, block.element.bits)
    if isinstance(flat, Affine) and flat.is_constant:
        return Const(ops.INDEX, place, flat.const)
    return arrays.as_expr(flat, place)


class Packed(Generated):
    """An array that is part of a word: a function may read it, and what it writes there would be lost."""


def array_of(value: Expr) -> Packed:
    """A word of elements as an array."""
    block, place = value.dtype, value.place
    assert isinstance(block, Block)

    def element(indices: Sequence[Subscript]) -> Expr:
        return packing.element(value, low_of(block, indices, place), place)

    return Packed(block.element, block.shape, place, (), element)


def word_of(value: Value, block: Block, place: SourcePlace) -> Expr:
    """The word of an array's elements; of one value, all elements are that."""
    if isinstance(value, ArrayValue):
        check_shape(value, block, place)
        parts = {name: value.element(index) for name, index in places(block)}
    elif value.dtype == block:
        return value
    else:
        parts = {name: value for name, _ in places(block)}
    typed = {name: ops.cast(part, block.element, place) for name, part in parts.items()}
    return packing.packed(typed, block, place)


def check_shape(value: ArrayValue, block: Block, place: SourcePlace) -> None:
    """Refuse an array of other extents for a field."""
    if value.shape != block.shape:
        raise ShapeMismatchError(
            f"An array of shape {arrays.show(value.shape)} is no field of shape "
            f"{arrays.show(block.shape)}.",
            place,
            help="give as many elements as the field has, or one value for all of them.",
        )


def view(var: Var, indices: Sequence[Subscript], place: SourcePlace) -> View:
    """The array that is a field, in the variable of this field of an array of Structs."""
    shape = tuple(extent or 0 for extent in var.shape[len(indices) :])
    along = (Along(constant(0), 1, axis) for axis in range(len(shape)))
    return View(var, (*map(At, indices), *along), shape, place)


def position(
    ctx: FunctionContext, items: Sequence[ast.expr], block: Block, place: SourcePlace
) -> Expr | None:
    """The lowest bit of the element that subscripts name; None where they name several."""
    if len(items) < len(block.shape) or any(
        isinstance(item, ast.Slice) or (isinstance(item, ast.Constant) and item.value is ...)
        for item in items
    ):
        return None
    found = [_in_range(ctx, item, extent) for item, extent in zip(items, block.shape, strict=True)]
    return low_of(block, found, place)


def _in_range(ctx: FunctionContext, item: ast.expr, extent: int) -> Subscript:
    found = indexing.position(ctx, item)
    if not isinstance(found, Affine):
        return found
    if found.is_constant and -extent <= found.const < 0:
        return constant(found.const + extent)
    span = found.span()
    if (
        span is not None
        and not (span[0] >= 0 and span[1] < extent)
        and not ctx.guards
        and not ctx.dead
    ):
        raise ShapeMismatchError(
            f"Index out of range: {ast.unparse(item)} for an array of {extent} in a Struct.",
            ctx.place(item),
            help=f"its elements are 0 to {extent - 1}, or -{extent} to -1 from the end.",
        )
    return found
