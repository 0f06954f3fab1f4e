"""Functions that are given flat arrays of the top function: which of their parameters are flat.

Without load and store functions the arrays of a Vitis top are pointers with one linear subscript. A
function that takes such an array, or makes the result, addresses it in the same way. Where other
calls give the function arrays of several dimensions, there is a copy of it for each form.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from allo.dialects._mlir import ir
from allo.dialects.core.signature import (
    callee_of,
    entry_of,
    function_around,
    function_type,
    functions_of,
    symbol,
)
from allo.dialects.passes.specialise import specialise_calls

_ATTRIBUTE = "flat_arguments"


def flat_positions(function: ir.Operation) -> frozenset[int]:
    """Which parameters of a function below the top are flat: its arguments, then its results."""
    if _ATTRIBUTE not in function.attributes:
        return frozenset()
    return frozenset(ir.DenseI64ArrayAttr(function.attributes[_ATTRIBUTE]))


def mark_flat_arguments(module: ir.Module, top: str) -> None:
    """Mark, and copy where calls differ, the functions that get flat arrays of ``top``, in place."""
    with module.context, ir.Location.unknown():
        while specialise_calls(module, partial(_pattern, module, top), partial(_mark, top)):
            pass


def _pattern(module: ir.Module, top: str, call: ir.Operation) -> tuple[int, ...] | None:
    wanted = _wanted(call, top)
    callee = functions_of(module)[callee_of(call)]
    return None if frozenset(wanted) == flat_positions(callee) else wanted


def _mark(top: str, function: ir.Operation, sites: Sequence[ir.Operation]) -> None:
    function.attributes[_ATTRIBUTE] = ir.DenseI64ArrayAttr.get(_wanted(sites[0], top))
    for site in sites:
        site.attributes["callee"] = ir.FlatSymbolRefAttr.get(symbol(function))


def _wanted(call: ir.Operation, top: str) -> tuple[int, ...]:
    flat = _flat_values(function_around(call), top)
    passed = [_array_behind(value) for value in call.operands]
    return tuple(k for k, value in enumerate([*passed, *call.results]) if value in flat)


def _flat_values(function: ir.Operation, top: str) -> list[ir.Value]:
    arguments = list(entry_of(function).arguments)
    values = [*arguments, *(returned_local(function, k) for k in range(_results(function)))]
    marked = range(len(values)) if symbol(function) == top else flat_positions(function)
    return [
        value
        for k, value in enumerate(values)
        if k in marked and value is not None and _has_dimensions(value)
    ]


def _has_dimensions(value: ir.Value) -> bool:
    return isinstance(value.type, ir.MemRefType) and value.type.rank > 1


def _results(function: ir.Operation) -> int:
    return len(function_type(function).results)


def _array_behind(value: ir.Value) -> ir.Value:
    while isinstance(value, ir.OpResult) and value.owner.name == "memref.cast":
        value = value.owner.operands[0]
    return value


def terminator(op: ir.Operation) -> ir.Operation:
    """The ``func.return`` of a function."""
    return list(entry_of(op).operations)[-1].operation


def returned_local(op: ir.Operation, position: int) -> ir.Value | None:
    """The array that can live in the result parameter: made here, at top level, returned once."""
    operands = list(terminator(op).operands)
    value = operands[position]
    if value in operands[:position] or not isinstance(value, ir.OpResult):
        return None
    owner = value.owner.operation if hasattr(value.owner, "operation") else value.owner
    if owner.name not in ("memref.alloc", "func.call") or owner.parent != op:
        return None
    return value
