"""Calls that need a function of another form: a function called in several ways gets a copy for each.

Shared by the passes that change what functions take (``fold_views``, ``repeated_arguments``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from .._mlir import ir
from ..affine.loops import walk
from ..core.signature import callee_of, functions_of, symbol
from ..text.free_name import free_name


def specialise_calls(
    module: ir.Module,
    pattern_of: Callable[[ir.Operation], object],
    change: Callable[[ir.Operation, Sequence[ir.Operation]], None],
) -> bool:
    """Change functions to suit their calls; whether anything changed.

    A function whose calls are all of one pattern changes in place; otherwise each pattern gets a copy
    ``<name>_v<n>``. Functions that are then called no more are dropped. A function without a body stays.

    Args:
        pattern_of: what two calls share when one function can serve both; None where the function
            serves the call as it is.
        change: rewrites a function and the calls of one pattern.
    """
    functions = functions_of(module)
    calls: dict[str, list[ir.Operation]] = {}
    for op in walk(module.operation):
        if op.name == "func.call":
            calls.setdefault(callee_of(op), []).append(op)
    changed = False
    for name, sites in calls.items():
        function = functions.get(name)
        if function is None or not len(function.regions[0].blocks):
            continue
        patterns: dict[object, list[ir.Operation]] = {}
        for site in sites:
            patterns.setdefault(pattern_of(site), []).append(site)
        for number, (pattern, group) in enumerate(patterns.items()):
            target = function
            if pattern is None:
                continue
            if len(patterns) > 1:
                target = function.clone(ir.InsertionPoint(function)).operation
                free = free_name(f"{name}_v{number}", functions)
                target.attributes["sym_name"] = ir.StringAttr.get(free)
                functions[free] = target
            change(target, group)
            changed = True
    if changed:
        _drop_unused_copies(module, calls)
    return changed


def homes(operands: Sequence[ir.Value]) -> list[int]:
    """For every operand of a call the first that is the same array; -1 for what is no array."""
    first: dict[object, int] = {}
    return [
        first.setdefault(_identity(value), k) if isinstance(value.type, ir.MemRefType) else -1
        for k, value in enumerate(operands)
    ]


def _identity(value: ir.Value) -> object:
    """Equal for values that are one array: a global is read by an operation at each place."""
    if not isinstance(value, ir.BlockArgument) and value.owner.name == "memref.get_global":
        return ir.FlatSymbolRefAttr(value.owner.attributes["name"]).value
    return value


def _drop_unused_copies(module: ir.Module, called: dict[str, list[ir.Operation]]) -> None:
    """Functions that were called before and are not any more."""
    still = {callee_of(op) for op in walk(module.operation) if op.name == "func.call"}
    for op in list(module.body.operations):
        operation = op.operation
        if operation.name != "func.func" or symbol(operation) not in called:
            continue
        if symbol(operation) not in still:
            operation.erase()
