"""Making functions and calls."""

from __future__ import annotations

from collections.abc import Sequence

from .._mlir import ir
from ..core.signature import functions_of, sign, string_array
from ..text.free_name import free_name


def free_function_name(module: ir.Operation, wanted: str) -> str:
    """A name that no function of the module has."""
    return free_name(wanted, functions_of(module), first=2)


def new_function(name: str, before: ir.Operation) -> ir.Operation:
    """An empty function without arguments, placed before another."""
    made = ir.Operation.create(
        "func.func",
        attributes={
            "sym_name": ir.StringAttr.get(name),
            "function_type": ir.TypeAttr.get(ir.FunctionType.get([], [])),
            "otypes": ir.StringAttr.get(""),
            "res_types": string_array([]),
        },
        regions=1,
        loc=before.location,
        ip=ir.InsertionPoint(before),
    )
    block = made.regions[0].blocks.append()
    ir.Operation.create("func.return", loc=before.location, ip=ir.InsertionPoint(block))
    sign(made, [], [])
    return made


def call(
    callee: str, operands: Sequence[ir.Value], location: ir.Location, ip: ir.InsertionPoint
) -> ir.Operation:
    """A call without results."""
    return ir.Operation.create(
        "func.call",
        operands=list(operands),
        attributes={"callee": ir.FlatSymbolRefAttr.get(callee)},
        loc=location,
        ip=ip,
    )
