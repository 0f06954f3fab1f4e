"""What stands on the left of ``=``: variables, elements, bits, fields and parts of arrays."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass

from allo.dialects.diagnostics import ShapeMismatchError, SourcePlace
from allo.dialects.types import AlloType, Block, Struct
from allo.frontend.affine import Affine, constant
from allo.frontend.capture import MISSING
from allo.frontend.elaborate import dispatch
from allo.frontend.elaborate.arrays import lazy as arrays
from allo.frontend.elaborate.arrays import stores
from allo.frontend.elaborate.arrays.lazy import ArrayValue, Value, View
from allo.frontend.elaborate.context import FunctionContext, ValueBinding
from allo.frontend.elaborate.expressions import blocks, subscripts
from allo.frontend.elaborate.expressions.bits import bit_field
from allo.frontend.elaborate.expressions.fields import field_name, field_of
from allo.frontend.rules import bit_fields, packing
from allo.frontend.rules import operations as ops
from allo.frontend.syntax import flatten
from allo.frontend.tree import Const, Expr, Load, Store, Subscript, Var


@dataclass(slots=True)
class Element:
    """A scalar variable or an array element."""

    var: Var
    indices: tuple[Subscript, ...]
    place: SourcePlace

    def load(self) -> Expr:
        """The present value."""
        return Load(self.var.dtype, self.place, self.var, self.indices)


@dataclass(slots=True)
class Bits:
    """Some bits of an element."""

    element: Element
    low: Expr
    width: int | Expr

    def load(self) -> Expr:
        """The present value."""
        return bit_fields.bit_range(self.element.load(), self.low, self.width, self.element.place)


@dataclass(slots=True)
class Field:
    """A field of an element that holds a packed Struct; ``path`` names it, after the Structs around it."""

    element: Element
    path: tuple[packing.Step, ...]
    dtype: AlloType

    def load(self) -> Expr:
        """The present value."""
        value = self.element.load()
        for step in self.path:
            value = packing.at(value, step, self.element.place)
        return value


Target = Element | Bits | Field | View


def target(ctx: FunctionContext, node: ast.expr) -> Target:
    """What a subscript or name on the left of ``=`` designates."""
    place = ctx.place(node)
    if isinstance(node, ast.Name):
        found = ctx.find(node.id)
        if isinstance(found, Var):
            return whole_target(found, place)
        if isinstance(found, ValueBinding) and isinstance(found.value, View):
            return found.value
        raise ctx.unknown_name(node, node.id)
    if not isinstance(node, ast.Subscript):
        raise ctx.unsupported(
            node, f"{ast.unparse(node)} cannot be assigned to.", "assign to a name or an element."
        )
    base, items = flatten(node)
    field = field_of(ctx, base, items)
    if field is not None:
        var, items = field
        if not items:
            return whole_target(var, place)
        owner = arrays.whole(var, place)
    else:
        owner = _target_array(ctx, base, place)
    view, rest = subscripts.view_of(ctx, owner, items, place)
    if view.shape != ():
        return view
    element = Element(view.var, view.subscripts(()), place)
    if not rest:
        return element
    if isinstance(view.dtype, Struct):
        return _field(ctx, node, element, rest)
    if len(rest) > 1:
        raise ctx.unsupported(
            node,
            "Bits of bits cannot be assigned to.",
            "take the bits into a variable, change them there, and assign them back.",
        )
    low, width = bit_field(ctx, element.load(), rest[0])
    return Bits(element, low, width)


def _field(ctx: FunctionContext, node: ast.expr, element: Element, items: list[ast.expr]) -> Target:
    dtype: AlloType = element.var.dtype
    path: list[packing.Step] = []
    while items and isinstance(dtype, Struct):
        if isinstance(dtype, Block):
            rank = len(dtype.shape)
            low = blocks.position(ctx, items[:rank], dtype, element.place)
            if low is None:
                raise ctx.unsupported(
                    node,
                    "A part of an array in a Struct of an argument cannot be assigned to.",
                    "loop over its elements, or assign the whole of it.",
                )
            dtype, items = dtype.element, items[rank:]
            path.append(low)
            continue
        name = field_name(ctx, items[0], dtype, element.var.name)
        dtype, items = dtype.fields[name], items[1:]
        path.append(name)
    if items:
        raise ctx.unsupported(
            node, "Bits of a field of an argument cannot be assigned to.", "copy the field first."
        )
    return Field(element, tuple(path), dtype)


def whole_target(var: Var, place: SourcePlace) -> Target:
    """A variable as a target."""
    return Element(var, (), place) if var.shape == () else arrays.whole(var, place)


def _target_array(ctx: FunctionContext, base: ast.expr, place: SourcePlace) -> View:
    found = ctx.find(base.id) if isinstance(base, ast.Name) else None
    if isinstance(found, ValueBinding) and isinstance(found.value, View):
        return found.value
    if isinstance(found, Var):
        if found.kind != "const" or found.user_declared:
            return arrays.whole(found, place)
    elif isinstance(base, ast.Name) and found is None and ctx.captured(base.id) is MISSING:
        raise ctx.unknown_name(base, base.id)
    what = ast.unparse(base)
    raise dispatch.type_error(
        ctx,
        base,
        f"{what} cannot be stored into.",
        "only local variables and arguments can; a captured array is constant.",
    )


def settled(goal: Target, keep: Callable[[Expr], Expr]) -> Target:
    """A target whose computed subscripts and bit places are ``keep`` of what they were."""
    if isinstance(goal, View):
        goal.settle(keep)
        return goal
    if isinstance(goal, Field):
        path = (step if isinstance(step, str | Const) else keep(step) for step in goal.path)
        return Field(_settled(goal.element, keep), tuple(path), goal.dtype)
    if isinstance(goal, Bits):
        width = goal.width if isinstance(goal.width, int) else keep(goal.width)
        return Bits(_settled(goal.element, keep), keep(goal.low), width)
    return _settled(goal, keep)


def _settled(element: Element, keep: Callable[[Expr], Expr]) -> Element:
    indices = tuple(at if isinstance(at, Affine) else keep(at) for at in element.indices)
    return Element(element.var, indices, element.place)


def assign(ctx: FunctionContext, goal: Target, value: Value, place: SourcePlace) -> None:
    """Store ``value`` into a target, cast to its type."""
    if isinstance(goal, View):
        stores.store(ctx, goal, value, place)
        return
    if isinstance(goal, Field) and isinstance(goal.dtype, Block):
        value = blocks.word_of(value, goal.dtype, place)
    if isinstance(value, ArrayValue):
        if arrays.total(value.shape) != 1:
            raise ShapeMismatchError(
                f"An array of shape {arrays.show(value.shape)} cannot be stored in one element.",
                place,
                help="store it in a slice of that shape, or take one element of it.",
            )
        value = value.element((constant(0),) * len(value.shape))
    if isinstance(goal, Field):
        element = goal.element
        whole = packing.with_field(element.load(), goal.path, value, place)
        ctx.emit(Store(place, element.var, element.indices, whole, partial=True))
        return
    if isinstance(goal, Bits):
        element = goal.element
        whole = bit_fields.with_bits(element.load(), goal.low, goal.width, value, place)
        ctx.emit(Store(place, element.var, element.indices, whole, partial=True))
        return
    ctx.emit(Store(place, goal.var, goal.indices, ops.cast(value, goal.var.dtype, place)))
