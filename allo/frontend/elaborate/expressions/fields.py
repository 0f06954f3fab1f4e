"""Structs as values: a local is one variable a field, any other is one word of packed fields."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from allo.dialects.diagnostics import ShapeMismatchError, SourcePlace, TypeMismatchError
from allo.dialects.types import AlloType, Block, Int, Struct, UInt
from allo.frontend.elaborate import dispatch
from allo.frontend.elaborate.arrays import lazy as arrays
from allo.frontend.elaborate.arrays import stores
from allo.frontend.elaborate.arrays.lazy import ArrayValue, Generated, Value
from allo.frontend.elaborate.context import FunctionContext, StructBinding
from allo.frontend.elaborate.expressions import blocks, indexing
from allo.frontend.rules import bit_fields, packing
from allo.frontend.rules import operations as ops
from allo.frontend.rules.integers import same_bits
from allo.frontend.syntax import flatten
from allo.frontend.tree import Const, Expr, Load, Subscript, Var

type Fields = Mapping[str, Value]
"""The fields of a Struct: an array in it is an array, a word of its elements, or what all of them are."""


def as_words(ctx: FunctionContext, node: ast.expr, wanted: AlloType) -> Value | None:
    """A local Struct, an array of them, or a literal of type ``wanted``, as words; else None."""
    if isinstance(node, ast.Dict) and isinstance(wanted, Struct):
        return word_of(ctx, node, wanted)
    binding = ctx.find(node.id) if isinstance(node, ast.Name) else None
    place = ctx.place(node)
    if isinstance(binding, StructBinding) and binding.shape:
        return words_at(binding, (), place)
    source = struct_element(ctx, node)
    if source is None:
        return None
    return _word(source[0], source[1], place)


def word_of(ctx: FunctionContext, node: ast.expr, dtype: Struct) -> Expr:
    """A Struct expression as a word: a variable, an element, a literal, another word."""
    place = ctx.place(node)
    return packing.packed(words_of(field_values(ctx, node, dtype), dtype, place), dtype, place)


def words_of(values: Fields, dtype: Struct, place: SourcePlace) -> dict[str, Expr]:
    """The fields of a Struct with arrays among them as words."""
    return {
        key: blocks.word_of(value, kind, place) if isinstance(kind, Block) else scalar(value)
        for (key, kind), value in zip(dtype.fields.items(), _ordered(values, dtype), strict=True)
    }


def _ordered(values: Fields, dtype: Struct) -> list[Value]:
    return [values[key] for key in dtype.fields]


def scalar(value: Value) -> Expr:
    """A field that is no array."""
    assert not isinstance(value, ArrayValue)
    return value


def word_as(ctx: FunctionContext, node: ast.expr, value: Expr, dtype: Struct) -> Expr:
    """A value as a word of ``dtype``: another Struct of the same bits, or an integer."""
    if value.dtype == dtype:
        return value
    place = ctx.place(node)
    return packing.packed(_unpacked(ctx, node, value, dtype), dtype, place)


def _word(binding: StructBinding, indices: tuple[Subscript, ...], place: SourcePlace) -> Expr:
    return packing.packed(_loads(binding, indices, place), binding.dtype, place)


def _loads(
    binding: StructBinding, indices: tuple[Subscript, ...], place: SourcePlace
) -> dict[str, Expr]:
    """The fields of a variable; a Struct or an array in it as a word."""
    return {
        key: _field_word(part, binding.dtype.fields[key], indices, place)
        for key, part in binding.fields.items()
    }


def _field_word(
    part: Var | StructBinding, kind: AlloType, indices: tuple[Subscript, ...], place: SourcePlace
) -> Expr:
    if isinstance(kind, Block):
        words = {
            name: _field_word(part, kind.element, (*indices, *index), place)
            for name, index in blocks.places(kind)
        }
        return packing.packed(words, kind, place)
    if isinstance(part, Var):
        return Load(part.dtype, place, part, indices)
    return _word(part, indices, place)


def words_at(binding: StructBinding, first: tuple[Subscript, ...], place: SourcePlace) -> Generated:
    """An array of Structs, or the part of it behind some subscripts, as words."""
    shape = tuple(extent or 0 for extent in binding.shape[len(first) :])
    sources = tuple(arrays.whole(var, place) for var in binding.variables())
    return Generated(
        binding.dtype, shape, place, sources, lambda rest: _word(binding, (*first, *rest), place)
    )


def field_name(ctx: FunctionContext, node: ast.expr, dtype: Struct, owner: str) -> str:
    """The field a subscript names."""
    if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
        raise dispatch.type_error(
            ctx,
            node,
            "Struct field access must use string literal.",
            f'write {owner}["{next(iter(dtype.fields))}"]; its fields: {", ".join(dtype.fields)}.',
        )
    if node.value not in dtype.fields:
        raise dispatch.type_error(
            ctx,
            node,
            f"Field {node.value} not found in struct type {dtype}.",
            f"its fields: {', '.join(dtype.fields)}.",
        )
    return node.value


def field_of(
    ctx: FunctionContext, base: ast.expr, items: list[ast.expr]
) -> tuple[Var, list[ast.expr]] | None:
    """The variable of ``p["x"]`` or ``A[i]["x"]`` and the other subscripts; None for no Struct."""
    binding = ctx.find(base.id) if isinstance(base, ast.Name) else None
    if not isinstance(binding, StructBinding):
        return None
    found: Var | StructBinding = binding
    while isinstance(found, StructBinding):
        rank = len(found.shape)
        node = items[rank] if len(items) > rank else base
        key = field_name(ctx, node, found.dtype, found.name)
        found, items = found.fields[key], [*items[:rank], *items[rank + 1 :]]
    return found, items


def struct_element(
    ctx: FunctionContext, node: ast.expr
) -> tuple[StructBinding, tuple[Subscript, ...]] | None:
    """A Struct variable, an element of an array of Structs, or a Struct in one."""
    found = struct_part(ctx, node)
    return None if found is None or len(found[1]) < len(found[0].shape) else found


def struct_part(
    ctx: FunctionContext, node: ast.expr
) -> tuple[StructBinding, tuple[Subscript, ...]] | None:
    """The same, or an array of Structs that is a field: it has more extents than there are subscripts."""
    base, items = flatten(node)
    binding = ctx.find(base.id) if isinstance(base, ast.Name) else None
    if not isinstance(binding, StructBinding):
        return None
    root, indices = binding.dtype, list[ast.expr]()
    while True:
        rank = len(binding.shape) - len(indices)
        indices, items = [*indices, *items[:rank]], items[rank:]
        if len(indices) < len(binding.shape) and binding.dtype is root:
            return None
        if not items:
            return binding, tuple(indexing.subscript(ctx, item) for item in indices)
        name, *items = items
        inner = binding.fields.get(str(name.value)) if isinstance(name, ast.Constant) else None
        if not isinstance(inner, StructBinding):
            return None
        binding = inner


def field_values(ctx: FunctionContext, node: ast.expr, dtype: Struct) -> Fields:
    """The fields of a Struct expression, each computed once; of a literal, arrays as they are."""
    if isinstance(node, ast.Dict):
        return _literal(ctx, node, dtype)
    source = struct_element(ctx, node)
    if source is not None:
        binding, indices = source
        _require_same_fields(ctx, node, binding.dtype, dtype)
        place = ctx.place(node)
        loads = _loads(binding, indices, place)
        held = {key: stores.compute_once(ctx, load) for key, load in loads.items()}
        return {key: _as_field(value, dtype.fields[key], place) for key, value in held.items()}
    return _unpacked(ctx, node, dispatch.scalar(ctx, node), dtype)


def _require_same_fields(ctx: FunctionContext, node: ast.expr, has: Struct, wanted: Struct) -> None:
    """A Struct becomes one of the same fields, integers of one width read as either signedness."""
    if _same_fields(has, wanted):
        return
    raise dispatch.type_error(
        ctx, node, f"A {has} cannot become a {wanted}.", "copy field by field."
    )


def _same_fields(has: AlloType, wanted: AlloType) -> bool:
    if not isinstance(has, Struct) or not isinstance(wanted, Struct):
        return has == wanted or same_bits(has, wanted)
    pairs = zip(has.fields.values(), wanted.fields.values(), strict=False)
    return list(has.fields) == list(wanted.fields) and all(_same_fields(a, b) for a, b in pairs)


def _as_field(value: Expr, dtype: AlloType, place: SourcePlace) -> Expr:
    """A field as that of a Struct of the same fields."""
    if isinstance(dtype, Struct):
        if value.dtype == dtype:
            return value
        return packing.from_bits(packing.word(value), dtype, place)
    return ops.cast(value, dtype, place)


def _literal(ctx: FunctionContext, node: ast.Dict, dtype: Struct) -> Fields:
    keys = [k.value if isinstance(k, ast.Constant) else None for k in node.keys]
    if sorted(map(str, keys)) != sorted(dtype.fields):
        raise dispatch.type_error(
            ctx,
            node,
            f"The fields {keys} are not those of {dtype}.",
            f"give every field once: {', '.join(dtype.fields)}.",
        )
    values: dict[str, Value] = {}
    for key, part in zip(keys, node.values, strict=True):
        kind = dtype.fields[str(key)]
        if isinstance(kind, Block):
            values[str(key)] = _array(ctx, part, kind)
            continue
        if isinstance(kind, Struct):
            values[str(key)] = stores.compute_once(ctx, word_of(ctx, part, kind))
            continue
        value = ops.cast(dispatch.scalar(ctx, part), kind, ctx.place(part))
        values[str(key)] = value if isinstance(value, Const) else stores.compute_once(ctx, value)
    return values


def _array(ctx: FunctionContext, node: ast.expr, block: Block) -> Value:
    """An array in a literal, as it is now; one number is each of its elements."""
    value = dispatch.expression(ctx, node)
    if not isinstance(value, ArrayValue):
        return value if value.dtype == block else ops.cast(value, block.element, ctx.place(node))
    blocks.check_shape(value, block, ctx.place(node))
    if isinstance(value, arrays.View) and value.var.kind == "const":
        return value
    return arrays.whole(stores.fresh_copy(ctx, value, "field", block.element), value.place)


def _unpacked(ctx: FunctionContext, node: ast.expr, packed: Expr, dtype: Struct) -> dict[str, Expr]:
    """A word of the same bits, or an integer of the Struct's width, its low bits the first field."""
    place = ctx.place(node)
    if isinstance(packed.dtype, Struct):
        _require_same_fields(ctx, node, packed.dtype, dtype)
        word = stores.compute_once(ctx, packed)
        parts = {key: packing.field(word, key, place) for key in dtype.fields}
        return {key: _as_field(part, dtype.fields[key], place) for key, part in parts.items()}
    if not _of_integers(dtype) or not isinstance(packed.dtype, (Int, UInt)):
        raise TypeMismatchError(
            f"A value of type {packed.dtype} cannot become {dtype}.",
            place,
            help="only an integer becomes a Struct, and only one whose fields are all integers.",
        )
    if packed.dtype.bits != dtype.bits:
        raise ShapeMismatchError(
            f"An integer of {packed.dtype.bits} bits cannot become {dtype} of {dtype.bits} bits.",
            place,
            help="cast it to the width of the Struct first.",
        )
    held, low, values = stores.compute_once(ctx, packed), 0, {}
    for key, field in dtype.fields.items():
        start = Const(ops.INDEX, place, low)
        raw = bit_fields.bit_range(held, start, field.bits, place)
        values[key] = packing.from_bits(raw, field, place)
        low += field.bits
    return values


def _of_integers(dtype: AlloType) -> bool:
    """Whether all fields, those of Structs in it included, are integers."""
    if isinstance(dtype, Struct):
        return all(map(_of_integers, dtype.fields.values()))
    return isinstance(dtype, (Int, UInt))
