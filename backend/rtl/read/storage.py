"""How an array is stored: registers, RAM banks, a constant table, or ports of the module."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from allo.dialects.core.partition import unpartitioned
from allo.dialects.diagnostics import SourcePlace

from ..graph.nodes import Array, Lin
from .records import GlobalRecord, MemType, element_width


def array_for_parameter(name: str, kind: MemType, declared: str, position: int) -> Array:
    """An array argument: ports of the module, a RAM outside."""
    array = _array(name, kind, "port", declared)
    array.parameter = position
    return array


def array_for_local(attrs: dict[str, Any], kind: MemType, place: SourcePlace | None) -> Array:
    """A local array or scalar."""
    storage = "reg" if kind.layout.bank_depth <= 1 else "ram"
    array = _array(attrs.get("name") or "tmp", kind, storage, attrs.get("dtype") or "")
    if not array.dtype.startswith(("fixed", "ufixed")) and attrs.get("unsigned"):
        array.dtype = f"u{array.dtype}"
    array.place = place
    return array


def array_for_global(record: GlobalRecord, place: SourcePlace | None) -> Array:
    """A constant table or a variable that keeps its value between calls."""
    small = record.type.layout.bank_depth <= 1
    storage = "reg" if small else "rom" if record.constant else "ram"
    array = _array(record.name, record.type, storage, "")
    array.initial = record.words
    array.constant = record.constant
    array.first_run = record.first_run
    array.place = place
    return array


def _array(name: str, kind: MemType, storage: str, declared: str) -> Array:
    return Array(
        name=name,
        dtype=declared or kind.element,
        width=element_width(kind.element),
        layout=kind.layout,
        shape=kind.shape,
        storage=storage,
        read_latency=0 if storage == "reg" else 1,
        space=kind.space,
    )


def bank_words(array: Array) -> list[list[int]] | None:
    """Initial words bank by bank, or None where the array starts undefined."""
    if array.initial is None:
        return None
    banks = [[0] * array.depth for _ in range(array.banks)]
    index = [0] * len(array.shape)
    for word in array.initial:
        bank, offset = array.layout.locate(index)
        banks[bank][offset] = word
        _next_index(index, array.shape)
    return banks


def _next_index(index: list[int], shape: tuple[int, ...]) -> None:
    for position in reversed(range(len(shape))):
        index[position] += 1
        if index[position] < shape[position]:
            return
        index[position] = 0


def constant_word(array: Array, index: Sequence[Lin]) -> int | None:
    """The word of a constant table at subscripts known now; None where there is none such."""
    if not array.constant or array.initial is None:
        return None
    position = 0
    for lin, extent in zip(index, array.shape, strict=True):
        if not lin.is_const or not 0 <= lin.const < extent:
            return None
        position = position * extent + lin.const
    return array.initial[position]


def one_register(name: str, place: SourcePlace | None) -> Array:
    """A register of one bit that starts at 0."""
    return Array(
        name, "ui1", 1, unpartitioned(()), (), "reg", place=place, initial=[0], read_latency=0
    )
