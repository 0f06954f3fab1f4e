"""A scalar that is set before it is read, in one block, is a value and no memory.

A scalar variable is an array of no dimension, which a loop writes in each iteration: for as long as
it is memory, no iteration is independent of the others.
"""

from __future__ import annotations

from functools import cmp_to_key

from allo.dialects._mlir import ir

_ALLOCATIONS = ("memref.alloc", "memref.alloca")
MOST_USES = 16


def forward_scalars(block: ir.Block) -> None:
    """Replace such scalars of a function by the values they hold, in place.

    Args:
        block: the function's first block, which begins with all of its allocations.
    """
    scalars = []
    for op in block.operations:
        if op.operation.name not in _ALLOCATIONS:
            break
        if op.operation.results[0].type.rank == 0:
            scalars.append(op.operation)
    for scalar in scalars:
        accesses = _accesses(scalar)
        if accesses:
            _forward(scalar, accesses)


def _accesses(scalar: ir.Operation) -> list[ir.Operation]:
    """The loads and stores of a scalar in their order; none where it must stay memory."""
    users = [use.owner.operation for use in scalar.results[0].uses]
    if not users or len(users) > MOST_USES:
        return []
    block = users[0].block
    for op in users:
        if op.name not in ("affine.load", "affine.store") or op.block != block:
            return []
    users.sort(key=cmp_to_key(_order))
    return users if users[0].name == "affine.store" else []


def _order(a: ir.Operation, b: ir.Operation) -> int:
    return -1 if a.is_before_in_block(b) else 1


def _forward(scalar: ir.Operation, accesses: list[ir.Operation]) -> None:
    value = accesses[0].operands[0]
    for op in accesses:
        if op.name == "affine.store":
            value = op.operands[0]
        else:
            op.results[0].replace_all_uses_with(value)
    for op in accesses:
        op.erase()
    scalar.erase()
