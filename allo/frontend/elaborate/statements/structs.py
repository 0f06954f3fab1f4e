"""Structs declared and assigned."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from allo.dialects.diagnostics import SourcePlace, TypeMismatchError
from allo.dialects.types import AlloType, Float, Int, Struct, UInt
from allo.frontend.affine import ScalarArg
from allo.frontend.elaborate.arrays import stores
from allo.frontend.elaborate.arrays.lazy import View
from allo.frontend.elaborate.context import FunctionContext, StructBinding
from allo.frontend.elaborate.expressions.fields import field_values, struct_element
from allo.frontend.elaborate.functions.annotations import Declared
from allo.frontend.elaborate.statements import struct_state, targets
from allo.frontend.rules import fixed, packing
from allo.frontend.syntax import flatten, last_name
from allo.frontend.tree import ArgValue, Expr, Store, Subscript, Var


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
    values = {key: packing.field(value, key, place) for key in dtype.fields}
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
    """One variable for each field, those of a Struct in it included."""
    shape = said.shape if said is not None else ()
    memory = said.memory if said is not None else None
    fields: dict[str, Var | StructBinding] = {}
    for key, field in dtype.fields.items():
        if isinstance(field, Struct):
            fields[key] = _variables(ctx, f"{name}_{key}", field, said, place)
        else:
            fields[key] = stores.new_local(ctx, f"{name}_{key}", field, shape, place, memory)
    return StructBinding(name, dtype, shape, fields, place)


def assign(ctx: FunctionContext, goal: ast.expr, node: ast.expr, place: SourcePlace) -> bool:
    """Assign a whole Struct; False when neither side is one."""
    target = struct_element(ctx, goal)
    if target is None:
        return _assign_word(ctx, goal, node, place) or _bind_copy(ctx, goal, node, place)
    binding, indices = target
    _store(ctx, binding, indices, field_values(ctx, node, binding.dtype), place)
    return True


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
    if not isinstance(dtype, Struct):
        return False
    target = targets.target(ctx, goal)
    if isinstance(target, View):
        return False
    values = field_values(ctx, node, dtype)
    targets.assign(ctx, target, packing.packed(values, dtype, place), place)
    return True


def _bind_copy(ctx: FunctionContext, goal: ast.expr, node: ast.expr, place: SourcePlace) -> bool:
    source = struct_element(ctx, node)
    if source is None or not isinstance(goal, ast.Name) or ctx.find_own(goal.id) is not None:
        return False
    values = field_values(ctx, node, source[0].dtype)
    _store(ctx, _new(ctx, goal.id, source[0].dtype, None, place), (), values, place)
    return True


def _store(
    ctx: FunctionContext,
    binding: StructBinding,
    indices: tuple[Subscript, ...],
    values: dict[str, Expr],
    place: SourcePlace,
) -> None:
    for key, part in binding.fields.items():
        value = values[key]
        if isinstance(part, Var):
            ctx.emit(Store(place, part, indices, value))
            continue
        inner = {name: packing.field(value, name, place) for name in part.dtype.fields}
        _store(ctx, part, indices, inner, place)
