"""Stateful Structs: one stateful variable for each field, or one of words where functions are passed it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from allo.dialects.boundary.storage import encode
from allo.dialects.diagnostics import SourcePlace, TypeMismatchError
from allo.dialects.text.shown import shown
from allo.dialects.types import AlloType, Block, Float, Struct
from allo.frontend.elaborate import globals_
from allo.frontend.elaborate.context import FunctionContext, StructBinding
from allo.frontend.elaborate.functions.annotations import Declared
from allo.frontend.rules.integers import wrap
from allo.frontend.tree import Var

type Shape = tuple[int | None, ...]


def fields(
    ctx: FunctionContext, name: str, said: Declared, init: Any, place: SourcePlace
) -> StructBinding:
    """A stateful variable for each field, those of Structs in it included."""
    assert isinstance(said.dtype, Struct)
    return _fields(ctx, name, said, init, place)


def words(ctx: FunctionContext, name: str, said: Declared, init: Any, place: SourcePlace) -> Var:
    """One stateful array of packed Structs."""
    assert isinstance(said.dtype, Struct)
    start = _words(name, said.dtype, said.shape, init, place)
    return globals_.stateful(ctx, name, said.dtype, said.shape, start, place, said.memory)


def _fields(
    ctx: FunctionContext, name: str, said: Declared, init: Any, place: SourcePlace
) -> StructBinding:
    dtype = said.dtype
    assert isinstance(dtype, Struct)
    made: dict[str, Var | StructBinding] = {}
    for key, start in _parts(name, dtype, said.shape, init, place).items():
        kind, shape, start = _extended(dtype.fields[key], said.shape, start)
        part = replace(said, dtype=kind, shape=shape)
        if isinstance(kind, Struct):
            made[key] = _fields(ctx, f"{name}_{key}", part, start, place)
        else:
            made[key] = globals_.stateful(
                ctx, f"{name}_{key}", kind, shape, start, place, said.memory
            )
    return StructBinding(name, dtype, said.shape, made, place)


def _extended(kind: AlloType, shape: Shape, start: Any) -> tuple[AlloType, Shape, Any]:
    """An array in a Struct as more extents of its variable; it may start alike in all Structs."""
    if not isinstance(kind, Block):
        return kind, shape, start
    extents = (*shape, *kind.shape)
    if isinstance(start, list | tuple | np.ndarray) and np.shape(start) == kind.shape:
        start = np.broadcast_to(np.asarray(start), [extent or 1 for extent in extents])
    return kind.element, extents, start


def _parts(name: str, dtype: Struct, shape: Shape, init: Any, place: SourcePlace) -> dict[str, Any]:
    """What each field starts at: 0, its part of a dict, or its column of a NumPy structured array."""
    if init is None or (isinstance(init, int) and init == 0):
        return dict.fromkeys(dtype.fields, 0)
    if isinstance(init, np.ndarray | np.void) and init.dtype.names:
        globals_.check_shape(np.asarray(init), shape, place, name)
        given: Mapping[str, Any] = {key: init[key] for key in init.dtype.names}
    elif isinstance(init, Mapping):
        given = init
    else:
        raise TypeMismatchError(
            f"The state {name} is a {dtype}, and {shown(init)} has no fields.",
            place,
            help="start it at 0, at a dict of its fields, or at a NumPy structured array.",
        )
    if set(given) != set(dtype.fields):
        raise TypeMismatchError(
            f"The state {name} starts at the fields {', '.join(map(str, given))}, which are not "
            f"those of {dtype}.",
            place,
            help=f"give every field once: {', '.join(dtype.fields)}.",
        )
    return {key: given[key] for key in dtype.fields}


def _words(name: str, dtype: Struct, shape: Shape, init: Any, place: SourcePlace) -> np.ndarray:
    extents = tuple(extent or 1 for extent in shape)
    total = np.zeros(extents, object)
    low = 0
    for key, start in _parts(name, dtype, shape, init, place).items():
        field, part = dtype.fields[key], f"{name}_{key}"
        kind, extended, start = _extended(field, shape, start)
        if isinstance(kind, Struct):
            bits = _words(part, kind, extended, start, place)
        else:
            bits = _bits(globals_.first_values(part, kind, extended, start, place), kind)
        columns = bits.reshape(*extents, -1)
        for number in range(columns.shape[-1]):
            total += columns[..., number] << low + number * kind.bits
        low += field.bits
    return total


def _bits(values: np.ndarray, dtype: AlloType) -> np.ndarray:
    """The bits of raw values, as integers without a sign."""
    if isinstance(dtype, Float):
        cells = encode(values, dtype)
        return cells.view(f"u{cells.itemsize}").astype(object)
    mask = (1 << dtype.bits) - 1
    flat = [wrap(int(value), dtype) & mask for value in values.reshape(-1).tolist()]
    return np.array(flat, object).reshape(values.shape)
