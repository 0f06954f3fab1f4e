"""The attributes that say what a function's arguments are to the user, kept in step with its block."""

from __future__ import annotations

from collections.abc import Sequence

from .._mlir import ir
from ..affine.loops import string_attribute, terminator


def declared_type(function: ir.Operation, value: ir.Value) -> str:
    """The textual declared type of an array's element or a scalar of ``function``."""
    if isinstance(value, ir.BlockArgument):
        if value.owner == function.regions[0].blocks[0] and "arg_types" in function.attributes:
            types = ir.ArrayAttr(function.attributes["arg_types"])
            return ir.StringAttr(types[value.arg_number]).value
        return _plain(value.type, unsigned=False)
    op = value.owner.operation
    declared = string_attribute(op, "dtype")
    return declared or _plain(value.type, unsigned="unsigned" in op.attributes)


def _plain(kind: ir.Type, *, unsigned: bool) -> str:
    element = kind.element_type if isinstance(kind, ir.MemRefType) else kind
    return f"u{element}" if unsigned else str(element)


def argument_texts(function: ir.Operation, attribute: str) -> list[str]:
    """``arg_names`` or ``arg_types`` of a function."""
    count = len(function.regions[0].blocks[0].arguments)
    if attribute not in function.attributes:
        return [""] * count
    return [ir.StringAttr(a).value for a in ir.ArrayAttr(function.attributes[attribute])]


def set_arguments(function: ir.Operation, names: Sequence[str], types: Sequence[str]) -> None:
    """Write the names, declared types and type of a function whose block arguments changed."""
    block = function.regions[0].blocks[0]
    inputs = [a.type for a in block.arguments]
    outputs = [v.type for v in terminator(block).operands]
    kind = ir.FunctionType.get(inputs, outputs)
    function.attributes["function_type"] = ir.TypeAttr.get(kind)
    function.attributes["arg_names"] = _strings(names)
    function.attributes["arg_types"] = _strings(types)
    function.attributes["itypes"] = ir.StringAttr.get("".join(map(_letter, types)))
    if "arg_attrs" in function.attributes:
        del function.attributes["arg_attrs"]


def _letter(declared: str) -> str:
    if declared.startswith(("ui", "ufixed")):
        return "u"
    return "s" if declared.startswith(("i", "fixed")) and declared != "index" else "_"


def _strings(texts: Sequence[str]) -> ir.ArrayAttr:
    return ir.ArrayAttr.get([ir.StringAttr.get(t) for t in texts])


def new_function(name: str, before: ir.Operation) -> ir.Operation:
    """An empty function without arguments, placed before another."""
    made = ir.Operation.create(
        "func.func",
        attributes={
            "sym_name": ir.StringAttr.get(name),
            "function_type": ir.TypeAttr.get(ir.FunctionType.get([], [])),
            "otypes": ir.StringAttr.get(""),
            "res_types": ir.ArrayAttr.get([]),
        },
        regions=1,
        loc=before.location,
        ip=ir.InsertionPoint(before),
    )
    block = made.regions[0].blocks.append()
    ir.Operation.create("func.return", loc=before.location, ip=ir.InsertionPoint(block))
    set_arguments(made, [], [])
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
