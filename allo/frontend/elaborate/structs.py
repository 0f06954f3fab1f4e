"""Struct variables: one variable a field, so that no target need know of structs."""

from __future__ import annotations

import ast

from allo.dialects.diagnostics import ShapeMismatchError, SourcePlace, TypeMismatchError
from allo.dialects.types import Int, Struct, UInt

from .. import operations as ops
from ..tree import Const, Expr, Load, Store, Subscript, Var
from . import arrays, expressions, indexing, statements
from .annotations import Declared
from .context import FunctionContext, StructBinding


def declare(ctx: FunctionContext, node: ast.AnnAssign, name: str, said: Declared) -> None:
    """``p: S``, ``p: S = {"x": a, "y": b}``, ``p: S = q``, ``p: S = integer``, ``A: S[4]``."""
    dtype = said.dtype
    assert isinstance(dtype, Struct)
    for field in dtype.fields.values():
        statements.refuse_storage(Declared(field, (), said.place))
    place = ctx.place(node)
    found = ctx.find_own(name)
    taken = isinstance(found, StructBinding) and name in ctx.scopes[-1]
    values = None
    if node.value is not None and not said.shape:
        values = _values(ctx, node.value, dtype)
    elif node.value is not None:
        raise TypeMismatchError(
            f"An array of Structs ({name}) has no initialiser.",
            ctx.place(node.value),
            help="store into its elements.",
        )
    binding = found if taken else _new(ctx, name, dtype, said, place)
    if values is not None:
        assert isinstance(binding, StructBinding)
        _store(ctx, binding, (), values, place)


def _new(
    ctx: FunctionContext, name: str, dtype: Struct, said: Declared | None, place: SourcePlace
) -> StructBinding:
    shape = said.shape if said is not None else ()
    memory = said.memory if said is not None else None
    fields = {
        key: arrays.new_local(ctx, f"{name}_{key}", field, shape, place, memory)
        for key, field in dtype.fields.items()
    }
    binding = StructBinding(name, dtype, shape, fields, place)
    ctx.bind(name, binding)
    return binding


def field_of(
    ctx: FunctionContext, base: ast.expr, items: list[ast.expr]
) -> tuple[Var, list[ast.expr]] | None:
    """The variable of ``p["x"]`` or ``A[i]["x"]`` and the other subscripts; None for no Struct."""
    binding = ctx.find(base.id) if isinstance(base, ast.Name) else None
    if not isinstance(binding, StructBinding):
        return None
    rank = len(binding.shape)
    key = items[rank] if len(items) > rank else None
    if not isinstance(key, ast.Constant) or not isinstance(key.value, str):
        raise expressions.type_error(
            ctx,
            key or base,
            "Struct field access must use string literal.",
            f'write {binding.name}["{next(iter(binding.fields))}"]; its fields: '
            f"{', '.join(binding.fields)}.",
        )
    if key.value not in binding.fields:
        raise expressions.type_error(
            ctx,
            key,
            f"Field {key.value} not found in struct type {binding.dtype}.",
            f"its fields: {', '.join(binding.fields)}.",
        )
    return binding.fields[key.value], [*items[:rank], *items[rank + 1 :]]


def assign(ctx: FunctionContext, goal: ast.expr, node: ast.expr, place: SourcePlace) -> bool:
    """Assign a whole Struct; False when neither side is one."""
    target = _element(ctx, goal)
    if target is None:
        return _bind_copy(ctx, goal, node, place)
    binding, indices = target
    _store(ctx, binding, indices, _values(ctx, node, binding.dtype), place)
    return True


def _bind_copy(ctx: FunctionContext, goal: ast.expr, node: ast.expr, place: SourcePlace) -> bool:
    source = _element(ctx, node)
    if source is None or not isinstance(goal, ast.Name) or ctx.find_own(goal.id) is not None:
        return False
    values = _values(ctx, node, source[0].dtype)
    _store(ctx, _new(ctx, goal.id, source[0].dtype, None, place), (), values, place)
    return True


def _element(
    ctx: FunctionContext, node: ast.expr
) -> tuple[StructBinding, tuple[Subscript, ...]] | None:
    """A Struct variable, or an element of an array of Structs."""
    items: list[ast.expr] = []
    while isinstance(node, ast.Subscript):
        part = node.slice
        items[:0] = part.elts if isinstance(part, ast.Tuple) else [part]
        node = node.value
    binding = ctx.find(node.id) if isinstance(node, ast.Name) else None
    if not isinstance(binding, StructBinding) or len(items) != len(binding.shape):
        return None
    return binding, tuple(indexing.subscript(ctx, item) for item in items)


def _values(ctx: FunctionContext, node: ast.expr, dtype: Struct) -> dict[str, Expr]:
    """The fields of a Struct expression, each computed once."""
    if isinstance(node, ast.Dict):
        return _literal(ctx, node, dtype)
    source = _element(ctx, node)
    if source is not None:
        binding, indices = source
        if binding.dtype != dtype:
            raise expressions.type_error(
                ctx, node, f"A {binding.dtype} cannot become a {dtype}.", "copy field by field."
            )
        place = ctx.place(node)
        loads = {key: Load(var.dtype, place, var, indices) for key, var in binding.fields.items()}
        return {key: arrays.compute_once(ctx, load) for key, load in loads.items()}
    return _unpacked(ctx, node, dtype)


def _literal(ctx: FunctionContext, node: ast.Dict, dtype: Struct) -> dict[str, Expr]:
    keys = [k.value if isinstance(k, ast.Constant) else None for k in node.keys]
    if sorted(map(str, keys)) != sorted(dtype.fields):
        raise expressions.type_error(
            ctx,
            node,
            f"The fields {keys} are not those of {dtype}.",
            f"give every field once: {', '.join(dtype.fields)}.",
        )
    values: dict[str, Expr] = {}
    for key, part in zip(keys, node.values, strict=True):
        value = ops.cast(expressions.scalar(ctx, part), dtype.fields[str(key)], ctx.place(part))
        values[str(key)] = value if isinstance(value, Const) else arrays.compute_once(ctx, value)
    return values


def _unpacked(ctx: FunctionContext, node: ast.expr, dtype: Struct) -> dict[str, Expr]:
    """An integer of the Struct's width, its low bits the first field."""
    place = ctx.place(node)
    packed = expressions.scalar(ctx, node)
    integers = all(isinstance(t, (Int, UInt)) for t in dtype.fields.values())
    if not integers or not isinstance(packed.dtype, (Int, UInt)):
        raise TypeMismatchError(
            f"A value of type {packed.dtype} cannot become {dtype}.",
            place,
            help="only an integer becomes a Struct, and only one whose fields are all integers.",
        )
    if packed.dtype.bits != dtype.bits:
        raise ShapeMismatchError(
            f"An integer of {packed.dtype.bits} bits cannot become {dtype} of {dtype.bits} bits.",
            place,
        )
    held, low, values = arrays.compute_once(ctx, packed), 0, {}
    for key, field in dtype.fields.items():
        start = Const(ops.INDEX, place, low)
        raw = ops.bit_range(held, start, field.bits, place)
        values[key] = ops.cast(raw, field, place)
        low += field.bits
    return values


def _store(
    ctx: FunctionContext,
    binding: StructBinding,
    indices: tuple[Subscript, ...],
    values: dict[str, Expr],
    place: SourcePlace,
) -> None:
    for key, var in binding.fields.items():
        ctx.emit(Store(place, var, indices, values[key]))
