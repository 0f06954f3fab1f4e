"""Stateful variables of functions that are called in several places: one memory, passed to each call.

A module has registers of its own, and a function becomes a module in every function that calls it. So
the state of a function with several calls belongs to the function around them, which passes it on. Where
that is a region, whose processes hand the variable over to each other, it is a memory of the region, and
the first of them fills it in the first run.
"""

from __future__ import annotations

import numpy as np

from allo.dialects._mlir import arith, ir, memref, scf
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
from allo.dialects.streams.shared.handover import Shared, first_of

FIRST_RUN = "first_run"
"""Attribute of a variable that says whether the first run has copied the first values of another one."""
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
            for function in functions_of(module).values():
                reads = _reads(function, state)
                if "region" in function.attributes and reads:
                    _keep_in_region(module, reads, state)


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


def _keep_in_region(module: ir.Module, reads: list[ir.Operation], state: str) -> None:
    """Make a variable that a region reads a memory in it, which its first process fills in the first run."""
    functions, read = functions_of(module), reads[0]
    kind = read.results[0].type
    name = ir.StringAttr(read.attributes["var"]).value if "var" in read.attributes else state
    attributes = {key: read.attributes[key] for key in ("unsigned",) if key in read.attributes}
    attributes |= {
        "name": ir.StringAttr.get(name),
        "operandSegmentSizes": ir.DenseI32ArrayAttr.get([0, 0]),
    }
    made = ir.Operation.create(
        "memref.alloc",
        results=[kind],
        attributes=attributes,
        loc=read.location,
        ip=ir.InsertionPoint(read),
    )
    for each in reads:
        each.results[0].replace_all_uses_with(made.results[0])
        each.erase()
    shared = Shared(made.results[0])
    calls = [use.owner.operation for use in made.results[0].uses]
    first = first_of(functions, shared, sorted(calls, key=_place_in_block))
    argument = entry_of(functions[callee_of(first)]).arguments[shared.positions(first)[0]]
    _fill_once(module, argument, state)


def _place_in_block(op: ir.Operation) -> int:
    return [each.operation for each in op.block.operations].index(op)


def _fill_once(module: ir.Module, array: ir.Value, state: str) -> None:
    """Copy a variable's first values into an argument, in the first run of the function."""
    variable = next(
        op.operation
        for op in module.body.operations
        if op.operation.name == "memref.global" and symbol(op.operation) == state
    )
    flag_type = ir.MemRefType.get([], ir.IntegerType.get_signless(1))
    table, flag = f"{state}_initial", f"{state}_ready"
    with ir.InsertionPoint(variable):
        given = {key: variable.attributes[key] for key in variable.attributes}
        given["sym_name"] = ir.StringAttr.get(table)
        given["constant"] = ir.UnitAttr.get()
        ir.Operation.create("memref.global", attributes=given, loc=variable.location)
        unset = ir.DenseElementsAttr.get(np.array(False), type=flag_type.element_type, shape=[])
        made = memref.GlobalOp(flag, ir.TypeAttr.get(flag_type), initial_value=unset)
        made.operation.attributes[FIRST_RUN] = ir.UnitAttr.get()
    block = array.owner
    with ir.InsertionPoint.at_block_begin(block), variable.location:
        ready = memref.GetGlobalOp(flag_type, flag).result
        loaded = memref.LoadOp(ready, []).result
        true = arith.ConstantOp(loaded.type, ir.IntegerAttr.get(loaded.type, 1)).result
        missing = arith.XOrIOp(loaded, true).result
        with ir.InsertionPoint(scf.IfOp(missing).then_block):
            memref.CopyOp(memref.GetGlobalOp(array.type, table).result, array)
            memref.StoreOp(true, ready, [])
            scf.YieldOp([])


__all__ = ["FIRST_RUN", "share_state"]
