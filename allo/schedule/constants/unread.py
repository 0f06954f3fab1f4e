"""Constant arrays that nothing reads once a nest is gone."""

from __future__ import annotations

from allo.dialects._mlir import ir
from allo.dialects.affine.loops import walk
from allo.dialects.core.signature import symbol


def drop_unread(module: ir.Module, function: ir.Operation) -> None:
    """Erase constant arrays that nothing reads any more."""
    for op in [op for op in walk(function) if op.name == "memref.get_global"]:
        if not list(op.result.uses):
            op.erase()
    read = {
        ir.FlatSymbolRefAttr(op.attributes["name"]).value
        for op in walk(module.operation)
        if op.name == "memref.get_global"
    }
    for op in [op.operation for op in module.body.operations]:
        if op.name == "memref.global" and "constant" in op.attributes and symbol(op) not in read:
            op.erase()
