"""What operations use from outside, and what the user calls it."""

from __future__ import annotations

from collections.abc import Sequence

from .._mlir import ir
from ..affine.loops import string_attribute, walk
from ..core.signature import signature_of


def free_values(ops: Sequence[ir.Operation]) -> list[ir.Value]:
    """Values that operations use and that are defined outside them, in order of first use."""
    inside = [inner for op in ops for inner in (op, *walk(op))]
    defined = {v for op in inside for v in op.results}
    defined |= {
        v
        for op in inside
        for region in op.regions
        for block in region.blocks
        for v in block.arguments
    }
    used = dict.fromkeys(v for op in inside for v in op.operands)
    return [v for v in used if v not in defined]


def variable_name(function: ir.Operation, value: ir.Value) -> str:
    """The user's name of an array, a scalar or an iterator of ``function``."""
    if isinstance(value, ir.BlockArgument):
        owner = value.owner.owner.operation
        if owner.name != "func.func":
            return string_attribute(owner, "loop_name") or "i"
        return signature_of(function).name(value.arg_number)
    op = value.owner.operation
    if op.name.endswith(".load"):
        return string_attribute(op, "from") or "value"
    return string_attribute(op, "name" if op.name != "memref.get_global" else "var") or "array"
