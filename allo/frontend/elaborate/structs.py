"""Structs: a local is one variable a field, an argument or result is one word of packed fields."""

from __future__ import annotations

import ast

from allo.dialects.diagnostics import ShapeMismatchError, SourcePlace, TypeMismatchError
from allo.dialects.types import AlloType, Float, Int, Struct, UInt

from ..rules import fixed, packing
from ..rules import operations as ops
from ..tree import ArgValue, Const, Expr, Load, ScalarArg, Store, Subscript, Var
from . import expressions, indexing, subscripts
from .arrays import lazy as arrays
from .arrays.lazy import Generated, Value
from .context import FunctionContext, StructBinding
from .functions.annotations import Declared


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


def require_flat(said: Declared) -> None:
    """Refuse a Struct within a Struct, and streams and iterators as fields."""
    if not isinstance(said.dtype, Struct):
        return
    for name, field in said.dtype.fields.items():
        if isinstance(field, (Int, UInt, Float)) or fixed.is_fixed(field):
            continue
        raise TypeMismatchError(
            f"Field {name} of {said.dtype} is {field}.",
            said.place,
            help="a field is an integer, a float or fixed point; write nested fields out.",
        )


def bind_argument(ctx: FunctionContext, argument: ScalarArg) -> None:
    """A Struct argument that the body assigns: fields of its own."""
    dtype, place = argument.dtype, argument.place
    assert isinstance(dtype, Struct)
    value = ArgValue(dtype, place, argument)
    values = {key: packing.field(value, key, place) for key in dtype.fields}
    _store(ctx, _new(ctx, argument.name, dtype, None, place), (), values, place)


def whole(ctx: FunctionContext, node: ast.expr, wanted: AlloType) -> Value | None:
    """A local Struct, an array of them, or a literal of type ``wanted``, as words; else None."""
    if isinstance(node, ast.Dict) and isinstance(wanted, Struct):
        return word_of(ctx, node, wanted)
    binding = ctx.find(node.id) if isinstance(node, ast.Name) else None
    place = ctx.place(node)
    if isinstance(binding, StructBinding) and binding.shape:
        return _words(binding, place)
    source = _element(ctx, node)
    if source is None:
        return None
    return _word(source[0], source[1], place)


def word_of(ctx: FunctionContext, node: ast.expr, dtype: Struct) -> Expr:
    """A Struct expression as a word: a variable, an element, a literal, another word."""
    return packing.packed(_values(ctx, node, dtype), dtype, ctx.place(node))


def _word(binding: StructBinding, indices: tuple[Subscript, ...], place: SourcePlace) -> Expr:
    loads: dict[str, Expr] = {
        key: Load(var.dtype, place, var, indices) for key, var in binding.fields.items()
    }
    return packing.packed(loads, binding.dtype, place)


def _words(binding: StructBinding, place: SourcePlace) -> Value:
    shape = tuple(extent or 0 for extent in binding.shape)
    sources = tuple(arrays.whole(var, place) for var in binding.fields.values())
    return Generated(
        binding.dtype, shape, place, sources, lambda indices: _word(binding, indices, place)
    )


def field_name(ctx: FunctionContext, node: ast.expr, dtype: Struct, owner: str) -> str:
    """The field a subscript names."""
    if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
        raise expressions.type_error(
            ctx,
            node,
            "Struct field access must use string literal.",
            f'write {owner}["{next(iter(dtype.fields))}"]; its fields: {", ".join(dtype.fields)}.',
        )
    if node.value not in dtype.fields:
        raise expressions.type_error(
            ctx,
            node,
            f"Field {node.value} not found in struct type {dtype}.",
            f"its fields: {', '.join(dtype.fields)}.",
        )
    return node.value


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
    node = items[rank] if len(items) > rank else base
    key = field_name(ctx, node, binding.dtype, binding.name)
    return binding.fields[key], [*items[:rank], *items[rank + 1 :]]


def assign(ctx: FunctionContext, goal: ast.expr, node: ast.expr, place: SourcePlace) -> bool:
    """Assign a whole Struct; False when neither side is one."""
    target = _element(ctx, goal)
    if target is None:
        return _assign_word(ctx, goal, node, place) or _bind_copy(ctx, goal, node, place)
    binding, indices = target
    _store(ctx, binding, indices, _values(ctx, node, binding.dtype), place)
    return True


def _assign_word(ctx: FunctionContext, goal: ast.expr, node: ast.expr, place: SourcePlace) -> bool:
    """Assign an element of an array argument; False when the target holds no packed Struct."""
    base = goal
    while isinstance(base, ast.Subscript):
        base = base.value
    found = ctx.find(base.id) if isinstance(base, ast.Name) else None
    if not isinstance(found, Var) or not isinstance(found.dtype, Struct):
        return False
    target = subscripts.target(ctx, goal)
    if not isinstance(target, subscripts.Element):
        return False
    values = _values(ctx, node, found.dtype)
    subscripts.assign(ctx, target, packing.packed(values, found.dtype, place), place)
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
    if packed.dtype == dtype:
        word = arrays.compute_once(ctx, packed)
        return {key: packing.field(word, key, place) for key in dtype.fields}
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
