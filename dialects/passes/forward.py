"""Store-to-load forwarding of scalar variables.

Assumes core IR. A load of a local scalar (``memref<T>``) takes the value last stored or loaded
when that is known in straight-line code, and at the entry of a region that does not store it.
Stores that are overwritten unread, and variables never read, go away. Arrays are left alone.
"""

from __future__ import annotations

from .._mlir import ir
from ..affine.loops import walk

_LOAD, _STORE = "affine.load", "affine.store"


def forward_scalars(module: ir.Module) -> None:
    """Forward stored values of local scalars to their loads, in place."""
    with module.context, ir.Location.unknown():
        for function in module.body.operations:
            op = function.operation
            if op.name == "func.func" and len(op.regions[0].blocks):
                _forward_function(op)


def _forward_function(function: ir.Operation) -> None:
    scalars = {
        op.result
        for op in walk(function)
        if op.name == "memref.alloc" and _is_private_scalar(op.result)
    }
    if not scalars:
        return
    for block in function.regions[0].blocks:
        _forward_block(block, {}, scalars)
    for scalar in scalars:
        _drop_unread(scalar)


def _is_private_scalar(value: ir.Value) -> bool:
    kind = ir.MemRefType(value.type)
    if kind.rank != 0:
        return False
    return all(use.owner.operation.name in (_LOAD, _STORE) for use in value.uses)


def _forward_block(
    block: ir.Block, known: dict[ir.Value, ir.Value], scalars: set[ir.Value]
) -> None:
    unread: dict[ir.Value, ir.Operation] = {}
    for child in list(block.operations):
        op = child.operation
        if op.name == _STORE and op.operands[1] in scalars:
            memref = op.operands[1]
            if memref in unread:
                unread[memref].erase()
            unread[memref] = op
            known[memref] = op.operands[0]
        elif op.name == _LOAD and op.operands[0] in scalars:
            memref = op.operands[0]
            if memref in known:
                op.result.replace_all_uses_with(known[memref])
                op.erase()
            else:
                known[memref] = op.result
                unread.pop(memref, None)
        elif len(op.regions):
            _forward_regions(op, known, unread, scalars)


def _forward_regions(
    op: ir.Operation,
    known: dict[ir.Value, ir.Value],
    unread: dict[ir.Value, ir.Operation],
    scalars: set[ir.Value],
) -> None:
    stored, touched = set(), set()
    for inner in walk(op):
        if inner.name == _STORE and inner.operands[1] in scalars:
            stored.add(inner.operands[1])
            touched.add(inner.operands[1])
        elif inner.name == _LOAD and inner.operands[0] in scalars:
            touched.add(inner.operands[0])
    # A branch begins with what holds before it; a loop body only with what it does not store.
    branch = op.name in ("affine.if", "scf.if")
    entry = {m: v for m, v in known.items() if branch or m not in stored}
    for region in op.regions:
        for block in region.blocks:
            _forward_block(block, dict(entry), scalars)
    for memref in stored:
        known.pop(memref, None)
    for memref in touched:
        unread.pop(memref, None)


def _drop_unread(scalar: ir.Value) -> None:
    users = [use.owner.operation for use in scalar.uses]
    if any(user.name != _STORE for user in users):
        return
    for user in users:
        user.erase()
    scalar.owner.operation.erase()
