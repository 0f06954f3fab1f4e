"""Integer arrays passed for parameters of the other signedness: one type on both sides of the call.

The language passes an array of ``UInt(b)`` for a parameter of ``Int(b)`` by reference, and back. The core IR
has no signs, so nothing happens at the call; C++ has two types there. A function called so gets a copy whose
parameter is declared as the array is. What it computes stays, for signs are in the operations.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from allo.dialects._mlir import ir
from allo.dialects.checked import module_pass
from allo.dialects.core.effects import whole_array
from allo.dialects.core.signature import (
    callee_of,
    declared_type,
    functions_of,
    sign,
    signature_of,
    symbol,
)
from allo.dialects.passes.specialise import specialise_calls

_INTEGER = re.compile(r"u?i(\d+)")


@module_pass
def declare_as_passed(module: ir.Module) -> None:
    """Declare integer array parameters as the arrays that calls pass, in place."""
    with module.context, ir.Location.unknown():
        changed = True
        while changed:
            calls = _Calls(module)
            changed = specialise_calls(module, calls.pattern, calls.declare)


class _Calls:
    """The calls of a module: how their arrays are declared on both sides."""

    def __init__(self, module: ir.Module) -> None:
        self._functions = functions_of(module)
        self._globals = {
            symbol(op): op.operation
            for op in module.body.operations
            if op.operation.name == "memref.global"
        }

    def pattern(self, call: ir.Operation) -> tuple[tuple[int, str], ...] | None:
        """The arguments that are declared otherwise than the parameters, and how."""
        wanted = signature_of(self._functions[callee_of(call)]).declared
        found = []
        for position, (value, declared) in enumerate(zip(call.operands, wanted, strict=True)):
            width = _width(declared)
            if width is None or not isinstance(value.type, ir.MemRefType):
                continue
            given = self._declared(value)
            if given != declared and _width(given) == width:
                found.append((position, given))
        return tuple(found) or None

    def declare(self, function: ir.Operation, sites: Sequence[ir.Operation]) -> None:
        """Declare the parameters of ``function`` as ``sites`` pass them, and call it there."""
        signature = signature_of(function)
        declared = list(signature.declared)
        for position, given in self.pattern(sites[0]) or ():
            declared[position] = given
        sign(function, signature.names, declared)
        for site in sites:
            site.attributes["callee"] = ir.FlatSymbolRefAttr.get(symbol(function))

    def _declared(self, value: ir.Value) -> str:
        """The declared element type of an array that a call passes; "" where none is."""
        value = whole_array(value)
        if isinstance(value, ir.BlockArgument):
            return declared_type(value.owner.owner.operation, value)
        owner = value.owner.operation
        if owner.name == "func.call":
            returned = signature_of(self._functions[callee_of(owner)]).returned
            return returned[list(owner.results).index(value)]
        if owner.name != "memref.get_global":
            return declared_type(owner, value)
        owner = self._globals[ir.FlatSymbolRefAttr(owner.attributes["name"]).value]
        element = ir.MemRefType(value.type).element_type
        if "dtype" in owner.attributes:
            return str(ir.StringAttr(owner.attributes["dtype"]).value)
        return f"u{element}" if "unsigned" in owner.attributes else str(element)


def _width(declared: str) -> str | None:
    found = _INTEGER.fullmatch(declared)
    return found.group(1) if found else None


__all__ = ["declare_as_passed"]
