"""Subscripts and attributes: elements, views, slices, bits; as values and as targets."""

from __future__ import annotations

import ast
import warnings
from dataclasses import dataclass
from typing import Any

from allo.dialects.diagnostics import (
    CompileTimeError,
    DTypeWarning,
    ShapeMismatchError,
    SourcePlace,
)
from allo.dialects.types import Float, Int, Struct, UInt, float16, float32, float64

from ..affine import Affine, constant
from ..capture import MISSING
from ..rules import fixed, packing
from ..rules import operations as ops
from ..tree import Binary, Bitcast, Const, Expr, Iter, Load, Store, Subscript, Var, shown_iteration
from . import expressions, indexing, structs
from .arrays import lazy as arrays
from .arrays.lazy import Along, ArrayValue, At, Value, View
from .context import FunctionContext


def read(ctx: FunctionContext, node: ast.Subscript) -> Value:
    """The value of ``base[...]``."""
    value = _compile_time(ctx, node)
    if value is not MISSING:
        return expressions.captured_value(ctx, node, ast.unparse(node), value)
    base, items = _flatten(node)
    field = structs.field_of(ctx, base, items)
    if field is not None:
        owner, items = expressions.variable(field[0], ctx.place(node)), field[1]
        return _select(ctx, owner, items, ctx.place(node)) if items else owner
    owner = expressions.expression(ctx, base)
    return _select(ctx, owner, items, ctx.place(node))


def _compile_time(ctx: FunctionContext, node: ast.Subscript) -> Any:
    """The value of a subscript of a captured object by compile-time indices, or ``MISSING``."""
    base, _ = _flatten(node)
    if isinstance(base, ast.Name) and isinstance(ctx.find(base.id), Var):
        return MISSING
    return ctx.try_constant(node)


def _flatten(node: ast.Subscript) -> tuple[ast.expr, list[ast.expr]]:
    """``A[i, j][k]`` as its base and the list of subscripts ``i, j, k``."""
    groups: list[ast.expr] = []
    base: ast.expr = node
    while isinstance(base, ast.Subscript):
        groups.append(base.slice)
        base = base.value
    items: list[ast.expr] = []
    for group in reversed(groups):
        items.extend(group.elts if isinstance(group, ast.Tuple) else [group])
    return base, items


def _select(ctx: FunctionContext, owner: Value, items: list[ast.expr], place: SourcePlace) -> Value:
    if not isinstance(owner, ArrayValue):
        return _bits(ctx, owner, items, place)
    view, rest = _view(ctx, owner, items, place)
    if view.shape == ():
        element = view.element(())
        return _bits(ctx, element, rest, place) if rest else element
    return view


def _view(
    ctx: FunctionContext, owner: ArrayValue, items: list[ast.expr], place: SourcePlace
) -> tuple[View, list[ast.expr]]:
    """Consume subscripts for the owner's dimensions; the rest select bits."""
    if not isinstance(owner, View):
        owner = arrays.whole(arrays.materialize(ctx, owner, "array"), place)
    rank = len(owner.shape)
    used, rest = _fit(items, rank)
    if rest and any(isinstance(item, ast.Slice) for item in used):
        raise expressions.type_error(
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
        )
    return position % extent


def _slice(
    ctx: FunctionContext, node: ast.Slice, extent: int, name: str
) -> tuple[Subscript, int, int]:
    step = 1 if node.step is None else ctx.constant_int(node.step, "The step of a slice")
    if step <= 0:
        raise CompileTimeError(
            f"The step of a slice must be positive, not {step}.", ctx.place(node.step or node)
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
            f"The slice {ast.unparse(node)} of {name} is empty.", ctx.place(node)
        )
    if step > size.const and step > 1:
        raise ShapeMismatchError(
            f"Step larger than range: step {step} over {size.const} elements.", ctx.place(node)
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


# --- bits --------------------------------------------------------------------------------------


def _bits(ctx: FunctionContext, value: Expr, items: list[ast.expr], place: SourcePlace) -> Value:
    if items and isinstance(value.dtype, Struct):
        name = structs.field_name(ctx, items[0], value.dtype, "it")
        value, items = packing.field(value, name, place), items[1:]
    for item in items:
        low, width = _bit_field(ctx, value, item)
        value = ops.bit_range(value, low, width, place)
    return value


def _bit_field(ctx: FunctionContext, value: Expr, item: ast.expr) -> tuple[Expr, int | Expr]:
    """(lowest bit, width) of ``value[item]``; the width is an expression where not constant."""
    if not isinstance(value.dtype, (Int, UInt)):
        raise expressions.type_error(
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
                f"Index out of range: bit {low.value} of {value.dtype}.", ctx.place(item)
            )
        return low, 1
    if item.step is not None:
        raise ctx.unsupported(item.step, "A bit slice has no step.")
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


# --- targets -----------------------------------------------------------------------------------


@dataclass(slots=True)
class Element:
    """A scalar variable or an array element."""

    var: Var
    indices: tuple[Subscript, ...]
    place: SourcePlace

    def load(self) -> Expr:
        return Load(self.var.dtype, self.place, self.var, self.indices)


@dataclass(slots=True)
class Bits:
    """Some bits of an element."""

    element: Element
    low: Expr
    width: int | Expr

    def load(self) -> Expr:
        return ops.bit_range(self.element.load(), self.low, self.width, self.element.place)


@dataclass(slots=True)
class Field:
    """A field of an element that holds a packed Struct."""

    element: Element
    name: str

    def load(self) -> Expr:
        return packing.field(self.element.load(), self.name, self.element.place)


Target = Element | Bits | Field | View


def target(ctx: FunctionContext, node: ast.expr) -> Target:
    """What a subscript or name on the left of ``=`` designates."""
    place = ctx.place(node)
    if isinstance(node, ast.Name):
        found = ctx.find(node.id)
        if isinstance(found, Var):
            return whole_target(found, place)
        raise ctx.unknown_name(node, node.id)
    if not isinstance(node, ast.Subscript):
        raise ctx.unsupported(
            node, f"{ast.unparse(node)} cannot be assigned to.", "assign to a name or an element."
        )
    base, items = _flatten(node)
    field = structs.field_of(ctx, base, items)
    if field is not None:
        var, items = field
        if not items:
            return whole_target(var, place)
    else:
        var = _target_variable(ctx, base)
    view, rest = _view(ctx, arrays.whole(var, place), items, place)
    if view.shape != ():
        return view
    element = Element(var, view.subscripts(()), place)
    if not rest:
        return element
    if isinstance(var.dtype, Struct):
        return _field(ctx, node, element, rest)
    if len(rest) > 1:
        raise ctx.unsupported(node, "Bits of bits cannot be assigned to.")
    low, width = _bit_field(ctx, element.load(), rest[0])
    return Bits(element, low, width)


def _field(ctx: FunctionContext, node: ast.expr, element: Element, items: list[ast.expr]) -> Target:
    dtype = element.var.dtype
    assert isinstance(dtype, Struct)
    name = structs.field_name(ctx, items[0], dtype, element.var.name)
    if len(items) > 1:
        raise ctx.unsupported(
            node, "Bits of a field of an argument cannot be assigned to.", "copy the field first."
        )
    return Field(element, name)


def whole_target(var: Var, place: SourcePlace) -> Target:
    """A variable as a target."""
    return Element(var, (), place) if var.shape == () else arrays.whole(var, place)


def _target_variable(ctx: FunctionContext, base: ast.expr) -> Var:
    found = ctx.find(base.id) if isinstance(base, ast.Name) else None
    if isinstance(found, Var):
        if found.kind != "const" or found.user_declared:
            return found
    elif isinstance(base, ast.Name) and found is None and ctx.captured(base.id) is MISSING:
        raise ctx.unknown_name(base, base.id)
    what = ast.unparse(base)
    raise expressions.type_error(
        ctx,
        base,
        f"{what} cannot be stored into.",
        "only local variables and arguments can; a captured array is constant.",
    )


def assign(ctx: FunctionContext, goal: Target, value: Value, place: SourcePlace) -> None:
    """Store ``value`` into a target, cast to its type."""
    if isinstance(goal, View):
        arrays.store(ctx, goal, value, place)
        return
    if isinstance(value, ArrayValue):
        if arrays.total(value.shape) != 1:
            raise ShapeMismatchError(
                f"An array of shape {arrays.show(value.shape)} cannot be stored in one element.",
                place,
            )
        value = value.element((constant(0),) * len(value.shape))
    if isinstance(goal, Field):
        element = goal.element
        whole = packing.with_field(element.load(), goal.name, value, place)
        ctx.emit(Store(place, element.var, element.indices, whole, partial=True))
        return
    if isinstance(goal, Bits):
        element = goal.element
        whole = ops.with_bits(element.load(), goal.low, goal.width, value, place)
        ctx.emit(Store(place, element.var, element.indices, whole, partial=True))
        return
    ctx.emit(Store(place, goal.var, goal.indices, ops.cast(value, goal.var.dtype, place)))


# --- attributes ------------------------------------------------------------------------------


def attribute(ctx: FunctionContext, node: ast.Attribute) -> Value:
    """``A.T``, ``x.reverse`` … of a value, or an attribute of a captured object."""
    value = ctx.try_constant(node)
    if value is not MISSING:
        return expressions.captured_value(ctx, node, ast.unparse(node), value)
    if node.attr in METHODS:
        return method(ctx, node)
    base = node.value
    if isinstance(base, ast.Name) and ctx.find(base.id) is None:
        ctx.constant(node, "This attribute")
    raise expressions.type_error(
        ctx,
        node,
        f"Unsupported function call or attribute method `.{node.attr}`.",
        f"values have {', '.join('.' + m for m in METHODS)}.",
    )


METHODS = ("T", "copy", "reverse", "bitcast")


def method(ctx: FunctionContext, node: ast.Attribute) -> Value:
    """The result of one of ``METHODS``, written with or without parentheses."""
    owner = expressions.expression(ctx, node.value)
    place = ctx.place(node)
    if node.attr in ("T", "copy"):
        return _array_method(ctx, node, owner, place)
    if isinstance(owner, ArrayValue):
        raise expressions.type_error(ctx, node, f".{node.attr} is for scalars, not whole arrays.")
    if node.attr == "reverse":
        return ops.reverse_bits(owner, place)
    return bitcast(ctx, node, owner)


def _array_method(
    ctx: FunctionContext, node: ast.Attribute, owner: Value, place: SourcePlace
) -> Value:
    if not isinstance(owner, ArrayValue):
        raise expressions.type_error(ctx, node, f".{node.attr} is for arrays.")
    if node.attr == "copy":
        return arrays.whole(arrays.fresh_copy(ctx, owner, "copy", owner.dtype), place)
    view = owner if isinstance(owner, View) else None
    if view is None:
        view = arrays.whole(arrays.materialize(ctx, owner, "array"), place)
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
    raise expressions.type_error(
        ctx,
        node,
        f"Unsupported bitwidth {value.dtype.bits}: {value.dtype} cannot be bit-cast.",
        "integers of 16, 32 or 64 bits become floats; floats become unsigned integers.",
    )
