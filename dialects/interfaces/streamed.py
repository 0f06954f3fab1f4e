"""Array arguments become streams: each load of one a get, each store a put.

Assumes that :func:`.order.check_order` holds. Loads of one element that stand in one block are one load
first, as a stream gives an element once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .._mlir import ir
from ..affine.loops import walk
from ..checked import module_pass
from ..core.locations import place_of
from ..core.signature import callee_of, entry_of, functions_of, sign, signature_of, symbol
from ..diagnostics import InterfaceError
from ..passes.fold_views import fold_views
from ..streams.rewrite import exchange_access
from .order import check_order

DEPTH = 2
_LOADS = ("affine.load", "memref.load")


@module_pass
def stream_arguments(module: ir.Module, top: str, positions: Sequence[int]) -> None:
    """Make array arguments of a function streams, in place.

    Raises:
        InterfaceError: the elements of one do not pass once, in row-major order.
    """
    with module.context, ir.Location.unknown():
        fold_views(module)
        function = functions_of(module.operation)[top]
        for position in positions:
            merge_loads(functions_of(module.operation), function, position)
            check_order(module, function, position)
            _rewrite(module, function, position)


def _uses_in(function: ir.Operation, position: int) -> list[ir.Operation]:
    argument = entry_of(function).arguments[position]
    return [op for op in walk(function) if argument in list(op.operands)]


def merge_loads(
    functions: Mapping[str, ir.Operation], function: ir.Operation, position: int
) -> None:
    """One load in place of several of one element in one block, of an array that nothing writes."""
    users = _uses_in(function, position)
    if any(op.name not in (*_LOADS, "func.call") for op in users):
        return
    seen: dict[tuple[object, ...], ir.Value] = {}
    for op in users:
        if op.name == "func.call":
            callee, inner = _callee(functions, op, entry_of(function).arguments[position])
            merge_loads(functions, callee, inner)
            continue
        shown = str(op.attributes["map"]) if "map" in op.attributes else ""
        key = (op.block, op.name, shown, *op.operands)
        if key in seen:
            op.results[0].replace_all_uses_with(seen[key])
            op.erase()
        else:
            seen[key] = op.results[0]


def _callee(
    functions: Mapping[str, ir.Operation], call: ir.Operation, array: ir.Value
) -> tuple[ir.Operation, int]:
    """The function that is called, and which of its arguments an array is."""
    return functions[callee_of(call)], list(call.operands).index(array)


def _rewrite(module: ir.Module, function: ir.Operation, position: int) -> None:
    argument = entry_of(function).arguments[position]
    element = signature_of(function).declared[position] or str(
        ir.MemRefType(argument.type).element_type
    )
    users = _uses_in(function, position)
    for op in users:
        if op.name == "func.call":
            _rewrite(module, *_only_callee(module, function, op, argument, position))
    argument.set_type(ir.IndexType.get())
    for op in users:
        if op.name != "func.call":
            exchange_access(op, argument)
            op.erase()
    signature = signature_of(function)
    declared = list(signature.declared)
    declared[position] = f"stream<{element}, {DEPTH}>"
    sign(function, list(signature.names), declared)


def _only_callee(
    module: ir.Module, function: ir.Operation, call: ir.Operation, array: ir.Value, position: int
) -> tuple[ir.Operation, int]:
    """The function that is called with the array, if this is its only call."""
    callee, inner = _callee(functions_of(module.operation), call, array)
    name = symbol(callee)
    calls = [
        op
        for other in functions_of(module.operation).values()
        for op in walk(other)
        if op.name == "func.call" and callee_of(op) == name
    ]
    if len(calls) != 1 or list(call.operands).count(array) != 1:
        raise InterfaceError(
            f"{signature_of(function).name(position)} cannot have the interface 'axis': it is handed to "
            f"{name}, which is called in several places.",
            place_of(call),
            help="give it the interface 'm_axi', or read and write it where it is declared.",
        )
    return callee, inner
