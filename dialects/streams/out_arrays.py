"""Calls that return arrays become calls that are given the arrays to fill, so that these are declared."""

from __future__ import annotations

from .._mlir import ir
from ..core.signature import (
    callee_of,
    declared_type,
    functions_of,
    sign,
    signature_of,
    string_array,
    symbol,
)
from .functions import free_function_name
from .tasks import variables_of


def declare_results(module: ir.Operation, owner: ir.Operation) -> None:
    """Give every call at the top of a function or loop local arrays in place of those it returns, in place.

    A call stays as it is where its function returns anything else, or keeps values between calls.
    """
    for op in [o.operation for o in owner.regions[0].blocks[0].operations]:
        if op.name == "func.call" and op.results:
            _declare(module, op)


def _declare(module: ir.Operation, made: ir.Operation) -> None:
    functions = functions_of(module)
    callee = functions.get(callee_of(made))
    if callee is None or not len(callee.regions[0].blocks) or variables_of(made, functions):
        return
    returned = list(_final(callee).operands)
    if len(set(returned)) < len(returned) or not all(_is_local(callee, v) for v in returned):
        return
    copy = callee.clone(ir.InsertionPoint(callee)).operation
    copy.attributes["sym_name"] = ir.StringAttr.get(free_function_name(module, symbol(callee)))
    _take_results(copy)
    keep = {n: made.attributes[n] for n in made.attributes if n in ("name", "dtype", "unsigned")}
    arrays = []
    for position, result in enumerate(made.results):
        name = ir.StringAttr(keep["name"]).value if "name" in keep else "result"
        label = name if len(returned) == 1 else f"{name}_{position}"
        array = ir.Operation.create(
            "memref.alloc",
            results=[result.type],
            attributes={
                **keep,
                "name": ir.StringAttr.get(label),
                "operandSegmentSizes": ir.DenseI32ArrayAttr.get([0, 0]),
            },
            loc=made.location,
            ip=ir.InsertionPoint(made),
        )
        result.replace_all_uses_with(array.result)
        arrays.append(array.result)
    ir.Operation.create(
        "func.call",
        operands=[*made.operands, *arrays],
        attributes={"callee": ir.FlatSymbolRefAttr.get(symbol(copy))},
        loc=made.location,
        ip=ir.InsertionPoint(made),
    )
    made.erase()


def _final(function: ir.Operation) -> ir.Operation:
    operations = function.regions[0].blocks[0].operations
    return operations[len(operations) - 1].operation


def _is_local(function: ir.Operation, value: ir.Value) -> bool:
    """Whether a value is an array that a function declares at its top."""
    if isinstance(value, ir.BlockArgument) or not isinstance(value.type, ir.MemRefType):
        return False
    owner = value.owner.operation
    return bool(owner.name == "memref.alloc" and owner.parent.operation == function)


def _take_results(function: ir.Operation) -> None:
    """Make the arrays that a function returns arguments behind the others."""
    final, block = _final(function), function.regions[0].blocks[0]
    signature = signature_of(function)
    names, kinds = list(signature.names), list(signature.declared)
    for value in list(final.operands):
        owner = value.owner.operation
        name = ir.StringAttr(owner.attributes["name"]).value if "name" in owner.attributes else ""
        name = name or "result"
        while name in names:
            name += "_"
        names.append(name)
        kinds.append(declared_type(function, value))
        argument = block.add_argument(value.type, owner.location)
        value.replace_all_uses_with(argument)
        owner.erase()
    ir.Operation.create("func.return", loc=final.location, ip=ir.InsertionPoint(final))
    final.erase()
    sign(function, names, kinds)
    function.attributes["res_types"] = string_array([])
    function.attributes["otypes"] = ir.StringAttr.get("")


__all__ = ["declare_results"]
