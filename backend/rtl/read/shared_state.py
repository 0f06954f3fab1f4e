"""Stateful variables of functions that are called in several places: one memory, passed to each call.

A module has registers of its own, and a function becomes a module in every function that calls it. So
the state of a function with several calls belongs to the function around them, which passes it on.
"""

from __future__ import annotations

from allo.dialects._mlir import ir
from allo.dialects.affine.loops import walk
from allo.dialects.core.rewrite import replace_operation
from allo.dialects.core.signature import (
    callee_of,
    declared_type,
    entry_of,
    function_around,
    functions_of,
    sign,
    signature_of,
    symbol,
)

_READ = "memref.get_global"


def share_state(module: ir.Module) -> None:
    """Let every stateful variable belong to one instance of one function, in place."""
    states = [
        symbol(op.operation)
        for op in module.body.operations
        if op.operation.name == "memref.global" and "constant" not in op.operation.attributes
    ]
    with module.context, ir.Location.unknown():
        for state in states:
            while (function := _to_be_given(module, state)) is not None:
                _give(module, function, state)


def _to_be_given(module: ir.Module, state: str) -> ir.Operation | None:
    """A function that uses a variable and must get it from its callers; None where all is well."""
    functions = functions_of(module)
    calls: dict[str, list[str]] = {name: [] for name in functions}
    for name, function in functions.items():
        for op in walk(function):
            if op.name == "func.call":
                calls[callee_of(op)].append(name)
    users = [name for name, function in functions.items() if _reads(function, state)]
    for name in users:
        if any(_reaches(name, other, calls) for other in users if other != name):
            continue
        if calls[name] and (len(users) > 1 or _is_repeated(name, calls)):
            return functions[name]
    return None


def _is_repeated(name: str, calls: dict[str, list[str]]) -> bool:
    """Whether a function, or one of those around it, is called in more than one place."""
    while calls[name]:
        if len(calls[name]) > 1:
            return True
        name = calls[name][0]
    return False


def _reaches(name: str, callee: str, calls: dict[str, list[str]]) -> bool:
    """Whether a function calls another, itself or through others."""
    return any(by == name or _reaches(name, by, calls) for by in calls[callee])


def _reads(function: ir.Operation, state: str) -> list[ir.Operation]:
    return [
        op
        for op in walk(function)
        if op.name == _READ and ir.FlatSymbolRefAttr(op.attributes["name"]).value == state
    ]


def _give(module: ir.Module, function: ir.Operation, state: str) -> None:
    """Make a variable the last argument of a function, and let each of its callers read it."""
    reads = _reads(function, state)
    kind = reads[0].results[0].type
    signature = signature_of(function)
    declared = declared_type(function, reads[0].results[0])
    attributes = {n: reads[0].attributes[n] for n in reads[0].attributes}
    added = entry_of(function).add_argument(kind, function.location)
    for read in reads:
        read.results[0].replace_all_uses_with(added)
        read.erase()
    name = ir.StringAttr(attributes["var"]).value if "var" in attributes else state
    sign(function, [*signature.names, name], [*signature.declared, declared])
    callers: dict[str, ir.Value] = {}
    for call in [op for op in walk(module.operation) if op.name == "func.call"]:
        if callee_of(call) != symbol(function):
            continue
        caller = function_around(call)
        if symbol(caller) not in callers:
            made = ir.Operation.create(
                _READ,
                results=[kind],
                attributes=attributes,
                loc=call.location,
                ip=ir.InsertionPoint.at_block_begin(entry_of(caller)),
            )
            callers[symbol(caller)] = made.result
        kept = {n: call.attributes[n] for n in call.attributes}
        operands = [*call.operands, callers[symbol(caller)]]
        replace_operation(call, "func.call", operands, kept)


__all__ = ["share_state"]
