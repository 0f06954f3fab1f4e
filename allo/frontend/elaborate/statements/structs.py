"""Structs declared and assigned."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from allo.dialects.diagnostics import SourcePlace, TypeMismatchError
from allo.dialects.types import AlloType, Block, Float, Int, Struct, UInt
from allo.frontend.affine import ScalarArg
from allo.frontend.elaborate import dispatch
from allo.frontend.elaborate.arrays import stores
from allo.frontend.elaborate.arrays.lazy import ArrayValue, Value, View
from allo.frontend.elaborate.context import FunctionContext, StructBinding
from allo.frontend.elaborate.expressions import blocks
from allo.frontend.elaborate.expressions.blocks import has_block
from allo.frontend.elaborate.expressions.fields import (
    Fields,
    field_values,
    scalar,
    struct_element,
    struct_part,
    words_of,
)
from allo.frontend.elaborate.functions.annotations import Declared
from allo.frontend.elaborate.statements import struct_state, targets
from allo.frontend.rules import fixed, packing
from allo.frontend.syntax import flatten, last_name
from allo.frontend.tree import ArgValue, Expr, Store, Subscript, Var

_MOST_AT_ONCE = 16
"""Elements of an array in a Struct that are taken out of a word one by one; of a longer one, in a loop."""


def declare(ctx: FunctionContext, node: ast.AnnAssign, name: str, said: Declared) -> None:
    """``p: S``, ``p: S = {"x": a, "y": b}``, ``p: S = q``, ``p: S = integer``, ``A: S[4]``."""
    dtype = said.dtype
    assert isinstance(dtype, Struct)
    require_flat(said)
    place = ctx.place(node)
    found = ctx.find_own(name)
    taken = isinstance(found, StructBinding) and name in ctx.scopes[-1]
    values = None
    if node.value is not None and not said.shape:
        values = field_values(ctx, node.value, dtype)
    elif node.value is not None:
        raise TypeMismatchError(
            f"An array of Structs ({name}) has no initialiser.",
            ctx.place(node.value),
            help="store into its elements.",
        )
    if said.shape and not taken and _is_passed(ctx, name, len(said.shape)):
        if not isinstance(found, Var) or name not in ctx.scopes[-1]:
            ctx.bind(name, stores.new_local(ctx, name, dtype, said.shape, place, said.memory))
        return
    binding = found if taken else _new(ctx, name, dtype, said, place)
    if values is not None:
        assert isinstance(binding, StructBinding)
        _store(ctx, binding, (), values, place)


def state(
    ctx: FunctionContext, name: str, said: Declared, init: Any, place: SourcePlace
) -> Var | StructBinding:
    """``t: S[4] @ Stateful = 0``: kept between calls as a local is held within one."""
    require_flat(said)
    passed = bool(said.shape) and _is_passed(ctx, name, len(said.shape))
    return (struct_state.words if passed else struct_state.fields)(ctx, name, said, init, place)


def _is_passed(ctx: FunctionContext, name: str, rank: int) -> bool:
    """Whether the function passes an array of this name, or a part of one, to another function.

    The array is then one word for each Struct, as an argument is.
    """
    calls = (node for node in ast.walk(ctx.source.tree) if isinstance(node, ast.Call))
    given = (
        part
        for call in calls
        if last_name(call) != "put"
        for part in (*call.args, *(keyword.value for keyword in call.keywords))
    )
    return any(
        isinstance(base, ast.Name) and base.id == name and len(items) < rank
        for base, items in map(flatten, given)
    )


def require_flat(said: Declared) -> None:
    """Refuse streams and iterators as fields, also of Structs within a Struct."""
    if not isinstance(said.dtype, Struct):
        return
    for name, field in _all_fields(said.dtype):
        if isinstance(field, (Int, UInt, Float)) or fixed.is_fixed(field):
            continue
        raise TypeMismatchError(
            f"Field {name} of {said.dtype} is {field}.",
            said.place,
            help="a field is an integer, a float, fixed point or a Struct of such.",
        )


def _all_fields(dtype: Struct) -> Iterator[tuple[str, AlloType]]:
    for name, field in dtype.fields.items():
        if isinstance(field, Struct):
            yield from _all_fields(field)
        else:
            yield name, field


def bind_argument(ctx: FunctionContext, argument: ScalarArg) -> None:
    """A Struct argument that the body assigns: fields of its own."""
    dtype, place = argument.dtype, argument.place
    assert isinstance(dtype, Struct)
    value = ArgValue(dtype, place, argument)
    values: Fields = {key: packing.field(value, key, place) for key in dtype.fields}
    _store(ctx, _new(ctx, argument.name, dtype, None, place), (), values, place)


def _new(
    ctx: FunctionContext, name: str, dtype: Struct, said: Declared | None, place: SourcePlace
) -> StructBinding:
    binding = _variables(ctx, name, dtype, said, place)
    ctx.bind(name, binding)
    return binding


def _variables(
    ctx: FunctionContext, name: str, dtype: Struct, said: Declared | None, place: SourcePlace
) -> StructBinding:
    """One variable for each field, those of a Struct in it included; an array in it adds its extents."""
    shape = said.shape if said is not None else ()
    memory = said.memory if said is not None else None
    fields: dict[str, Var | StructBinding] = {}
    for key, field in dtype.fields.items():
        kind, extents, part = field, shape, f"{name}_{key}"
        if isinstance(field, Block):
            kind, extents = field.element, (*shape, *field.shape)
        if isinstance(kind, Struct):
            inner = Declared(kind, extents, place, decorations=said.decorations if said else ())
            fields[key] = _variables(ctx, part, kind, inner, place)
        else:
            fields[key] = stores.new_local(ctx, part, kind, extents, place, memory)
    return StructBinding(name, dtype, shape, fields, place)


def assign(ctx: FunctionContext, goal: ast.expr, node: ast.expr, place: SourcePlace) -> bool:
    """Assign a whole Struct; False when neither side is one."""
    target = struct_part(ctx, goal)
    if target is not None and len(target[1]) < len(target[0].shape):
        _assign_array(ctx, target, node, place)
        return True
    if target is None:
        return _assign_word(ctx, goal, node, place) or _bind_copy(ctx, goal, node, place)
    binding, indices = target
    source = struct_element(ctx, node) if has_block(binding.dtype) else None
    if source is not None and source[0].dtype == binding.dtype:
        _copy(ctx, target, source, place)
        return True
    _store(ctx, binding, indices, field_values(ctx, node, binding.dtype), place)
    return True


def _assign_array(ctx: FunctionContext, target: _Place, node: ast.expr, place: SourcePlace) -> None:
    """An array of Structs that is a field, from one of its type and extents."""
    (binding, indices), source = target, struct_part(ctx, node)
    shape = tuple(extent or 0 for extent in binding.shape[len(indices) :])
    same = source is not None and source[0].dtype == binding.dtype
    if source is not None and same and source[0].shape[len(source[1]) :] == shape:
        _copy(ctx, target, source, place)
        return
    block = Block(binding.dtype, shape)
    word = stores.compute_once(ctx, blocks.word_of(dispatch.expression(ctx, node), block, place))
    _store_field(ctx, binding, block, indices, word, place)


def _assign_word(ctx: FunctionContext, goal: ast.expr, node: ast.expr, place: SourcePlace) -> bool:
    """Assign a packed Struct, or one in it; False when the target holds none."""
    base, items = flatten(goal)
    found = ctx.find(base.id) if isinstance(base, ast.Name) else None
    if not isinstance(found, Var) or len(items) < len(found.shape):
        return False
    dtype: AlloType | None = found.dtype
    for item in items[len(found.shape) :]:
        fields = dtype.fields if isinstance(dtype, Struct) else {}
        dtype = fields.get(str(item.value)) if isinstance(item, ast.Constant) else None
    if not isinstance(dtype, Struct) or isinstance(dtype, Block):
        return False
    target = targets.target(ctx, goal)
    if isinstance(target, View):
        return False
    values = field_values(ctx, node, dtype)
    word = packing.packed(words_of(values, dtype, place), dtype, place)
    targets.assign(ctx, target, word, place)
    return True


def _bind_copy(ctx: FunctionContext, goal: ast.expr, node: ast.expr, place: SourcePlace) -> bool:
    source = struct_element(ctx, node)
    if source is None or not isinstance(goal, ast.Name) or ctx.find_own(goal.id) is not None:
        return False
    made = _new(ctx, goal.id, source[0].dtype, None, place)
    if has_block(made.dtype):
        _copy(ctx, (made, ()), source, place)
        return True
    _store(ctx, made, (), field_values(ctx, node, made.dtype), place)
    return True


def bind_value(ctx: FunctionContext, name: str, value: Expr, place: SourcePlace) -> bool:
    """A new name for the word of a Struct with arrays, as a local of this type; False for others."""
    if not isinstance(value.dtype, Struct) or not has_block(value.dtype):
        return False
    word = stores.compute_once(ctx, value)
    values: Fields = {key: packing.field(word, key, place) for key in value.dtype.fields}
    _store(ctx, _new(ctx, name, value.dtype, None, place), (), values, place)
    return True


def _store(
    ctx: FunctionContext,
    binding: StructBinding,
    indices: tuple[Subscript, ...],
    values: Fields,
    place: SourcePlace,
) -> None:
    for key, part in binding.fields.items():
        _store_field(ctx, part, binding.dtype.fields[key], indices, values[key], place)


def _store_field(
    ctx: FunctionContext,
    part: Var | StructBinding,
    kind: AlloType,
    indices: tuple[Subscript, ...],
    value: Value,
    place: SourcePlace,
) -> None:
    if not isinstance(kind, Block):
        word = scalar(value)
        if isinstance(part, Var):
            ctx.emit(Store(place, part, indices, word))
            return
        inner = {name: packing.field(word, name, place) for name in part.dtype.fields}
        _store(ctx, part, indices, inner, place)
    elif isinstance(part, Var) and (isinstance(value, ArrayValue) or value.dtype != kind):
        stores.store(ctx, blocks.view(part, indices, place), value, place)
    elif isinstance(part, Var) and len(kind.fields) > _MOST_AT_ONCE:
        elements = blocks.array_of(stores.compute_once(ctx, scalar(value)))
        stores.store(ctx, blocks.view(part, indices, place), elements, place)
    else:
        word = blocks.word_of(value, kind, place)
        for name, index in blocks.places(kind):
            element = packing.field(word, name, place)
            _store_field(ctx, part, kind.element, (*indices, *index), element, place)


type _Place = tuple[StructBinding, tuple[Subscript, ...]]


def _copy(ctx: FunctionContext, target: _Place, source: _Place, place: SourcePlace) -> None:
    """A Struct into another one of its type, field by field, arrays in loops."""
    for to, part in zip(target[0].variables(), source[0].variables(), strict=True):
        value = blocks.view(part, source[1], place)
        stores.store(ctx, blocks.view(to, target[1], place), value, place)
