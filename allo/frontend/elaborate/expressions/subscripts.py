"""Subscripts as values: elements, views and slices of arrays."""

from __future__ import annotations

import ast
from typing import Any

from allo.dialects.diagnostics import CompileTimeError, ShapeMismatchError, SourcePlace
from allo.dialects.text import differences
from allo.dialects.types import Block, Struct
from allo.frontend.affine import Affine, Iter, constant, shown_iteration
from allo.frontend.capture import MISSING
from allo.frontend.elaborate import dispatch
from allo.frontend.elaborate.arrays import lazy as arrays
from allo.frontend.elaborate.arrays import stores
from allo.frontend.elaborate.arrays.lazy import Along, ArrayValue, At, Uniform, Value, View
from allo.frontend.elaborate.context import FunctionContext
from allo.frontend.elaborate.expressions import blocks, indexing
from allo.frontend.elaborate.expressions.bits import select_bits
from allo.frontend.elaborate.expressions.fields import field_name, field_of, struct_part, words_at
from allo.frontend.elaborate.expressions.names import captured_value, variable
from allo.frontend.rules import packing
from allo.frontend.syntax import flatten
from allo.frontend.tree import Expr, Subscript, Var


def read(ctx: FunctionContext, node: ast.Subscript) -> Value:
    """The value of ``base[...]``."""
    value = _compile_time(ctx, node)
    if value is not MISSING:
        return captured_value(ctx, node, ast.unparse(node), value)
    part = struct_part(ctx, node)
    if part is not None and len(part[1]) < len(part[0].shape):
        return words_at(*part, ctx.place(node))
    base, items = flatten(node)
    field = field_of(ctx, base, items)
    if field is not None:
        owner, items = variable(field[0], ctx.place(node)), field[1]
        return _select(ctx, owner, items, ctx.place(node)) if items else owner
    owner = dispatch.expression(ctx, base)
    return _select(ctx, owner, items, ctx.place(node))


def _compile_time(ctx: FunctionContext, node: ast.Subscript) -> Any:
    """The value of a subscript of a captured object by compile-time indices, or ``MISSING``."""
    base, _ = flatten(node)
    if isinstance(base, ast.Name) and isinstance(ctx.find(base.id), Var):
        return MISSING
    return ctx.try_constant(node)


def _select(ctx: FunctionContext, owner: Value, items: list[ast.expr], place: SourcePlace) -> Value:
    if not isinstance(owner, ArrayValue):
        return _part(ctx, owner, items, place)
    if isinstance(owner, Uniform):
        return owner.value
    view, rest = view_of(ctx, owner, items, place)
    if view.shape == ():
        element = view.element(())
        return _part(ctx, element, rest, place)
    return view


def _part(ctx: FunctionContext, value: Expr, items: list[ast.expr], place: SourcePlace) -> Value:
    """Fields and elements of a Struct that is one word, then bits."""
    while items and isinstance(value.dtype, Struct):
        if not isinstance(value.dtype, Block):
            name = field_name(ctx, items[0], value.dtype, "it")
            value, items = packing.field(value, name, place), items[1:]
            continue
        rank = len(value.dtype.shape)
        low = blocks.position(ctx, items[:rank], value.dtype, place)
        if low is None:
            return _select(ctx, blocks.array_of(value), items, place)
        value, items = packing.element(value, low, place), items[rank:]
    if isinstance(value.dtype, Block):
        return blocks.array_of(value)
    return select_bits(ctx, value, items, place) if items else value


def view_of(
    ctx: FunctionContext, owner: ArrayValue, items: list[ast.expr], place: SourcePlace
) -> tuple[View, list[ast.expr]]:
    """Consume subscripts for the owner's dimensions; the rest select bits."""
    if not isinstance(owner, View):
        owner = arrays.whole(stores.materialize(ctx, owner, "array"), place)
    rank = len(owner.shape)
    used, rest = _fit(items, rank)
    if rest and any(isinstance(item, ast.Slice) for item in used):
        raise dispatch.type_error(
            ctx, rest[0], f"{owner.var.name} has only {rank} dimensions.", "drop a subscript."
        )
    chosen = [_choose(ctx, item, owner, axis) for axis, item in enumerate(used)]
    return _apply(owner, chosen, place), rest


def _fit(items: list[ast.expr], rank: int) -> tuple[list[ast.expr | None], list[ast.expr]]:
    """The subscripts of ``rank`` dimensions (None: all of it), and what is left over."""
    dots = [i for i, item in enumerate(items) if _is_ellipsis(item)]
    if dots:
        head, tail = items[: dots[0]], items[dots[0] + 1 :]
        fill: list[ast.expr | None] = [None] * (rank - len(head) - len(tail))
        return [*head, *fill, *tail], []
    used: list[ast.expr | None] = [*items[:rank], *([None] * (rank - len(items)))]
    return used, items[rank:]


def _is_ellipsis(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is Ellipsis


Choice = Subscript | tuple[Subscript, int, int]


def _choose(ctx: FunctionContext, item: ast.expr | None, owner: View, axis: int) -> Choice:
    """One position, or (offset, step, size)."""
    extent = owner.shape[axis]
    if item is None:
        return constant(0), 1, extent
    if isinstance(item, ast.Slice):
        return _slice(ctx, item, extent, owner.var.name)
    position = indexing.position(ctx, item)
    if isinstance(position, Affine) and position.is_constant and extent >= 0:
        return constant(_in_range(ctx, item, position.const, extent, owner.var.name))
    if isinstance(position, Affine) and extent >= 0 and not (ctx.guards or ctx.dead):
        _check_reach(ctx, item, position, extent, owner.var.name)
    return position


def _check_reach(
    ctx: FunctionContext, node: ast.expr, position: Affine, extent: int, name: str
) -> None:
    """Refuse a subscript that surely leaves the array in some iteration."""
    span = position.span()
    if span is None or (span[0] >= 0 and span[1] < extent):
        return
    reached = span[1] if span[1] >= extent else span[0]
    above = reached == span[1]
    ends = {
        atom: atom.span[int(above == (coefficient > 0))]
        for atom, coefficient in position.terms
        if isinstance(atom, Iter) and atom.span is not None
    }
    text = ast.unparse(node)
    raise ShapeMismatchError(
        f"Index out of range: {text} reaches {reached} for a dimension of extent {extent} of "
        f"{name}.",
        ctx.place(node),
        notes=(f"it takes {span[0]} to {span[1]}, and is {reached} at {shown_iteration(ends)}.",),
        help="shorten the loop, or guard the access with an if.",
    )


def _in_range(ctx: FunctionContext, node: ast.expr, position: int, extent: int, name: str) -> int:
    if not -extent <= position < extent and not ctx.dead:
        raise ShapeMismatchError(
            f"Index out of range: {position} for a dimension of extent {extent} of {name}.",
            ctx.place(node),
            notes=(differences.SUBSCRIPT,),
            help=f"its elements are 0 to {extent - 1}, or -{extent} to -1 from the end.",
        )
    return position % extent


def _slice(
    ctx: FunctionContext, node: ast.Slice, extent: int, name: str
) -> tuple[Subscript, int, int]:
    step = 1 if node.step is None else ctx.constant_int(node.step, "The step of a slice")
    if step <= 0:
        raise CompileTimeError(
            f"The step of a slice must be positive, not {step}.",
            ctx.place(node.step or node),
            help="read A[n - 1 - i] in a loop to go backwards.",
        )
    lower = constant(0) if node.lower is None else _bound(ctx, node.lower, extent)
    upper = constant(extent) if node.upper is None else _bound(ctx, node.upper, extent)
    size = upper - lower
    if not size.is_constant:
        raise CompileTimeError(
            f"The length of the slice {ast.unparse(node)} must be known at compile time.",
            ctx.place(node),
            help="write A[lo : lo + N] with a constant N, or loop over the elements.",
        )
    if lower.is_constant:
        _check_bounds(ctx, node, lower.const, upper.const, extent, name)
    if size.const <= 0:
        raise ShapeMismatchError(
            f"The slice {ast.unparse(node)} of {name} is empty.",
            ctx.place(node),
            help="the end of a slice is exclusive, and lies above its start.",
        )
    if step > size.const and step > 1:
        raise ShapeMismatchError(
            f"Step larger than range: step {step} over {size.const} elements.",
            ctx.place(node),
            help="a slice of one element is A[i:i + 1].",
        )
    return lower, step, -(-size.const // step)


def _bound(ctx: FunctionContext, node: ast.expr, extent: int) -> Affine:
    bound = indexing.affine_of(ctx, node)
    if bound is None:
        raise CompileTimeError(
            f"The bound {ast.unparse(node)} of a slice must be affine in loop iterators.",
            ctx.place(node),
            help="loop over the elements instead.",
        )
    if bound.is_constant and bound.const < 0:
        return constant(bound.const + extent)
    return bound


def _check_bounds(
    ctx: FunctionContext, node: ast.Slice, lower: int, upper: int, extent: int, name: str
) -> None:
    if (lower < 0 or upper > extent) and not ctx.dead:
        raise ShapeMismatchError(
            f"Index out of range: the slice {ast.unparse(node)} of {name}, "
            f"whose extent is {extent}.",
            ctx.place(node),
            help="the end of a slice is exclusive, and at most the extent.",
        )


def _apply(owner: View, chosen: list[Choice], place: SourcePlace) -> View:
    """The view of a view."""
    axis_of: dict[int, int] = {}
    shape: list[int] = []
    for axis, choice in enumerate(chosen):
        if isinstance(choice, tuple):
            axis_of[axis] = len(shape)
            shape.append(choice[2])
    selectors: list[At | Along] = []
    for selector in owner.selectors:
        if isinstance(selector, At):
            selectors.append(selector)
            continue
        choice = chosen[selector.axis]
        if isinstance(choice, tuple):
            offset, step, _ = choice
            start = arrays.plus(selector.offset, arrays.scaled(offset, selector.step))
            selectors.append(Along(start, step * selector.step, axis_of[selector.axis]))
        else:
            start = arrays.plus(selector.offset, arrays.scaled(choice, selector.step))
            selectors.append(At(start))
    return View(owner.var, tuple(selectors), tuple(shape), place)
