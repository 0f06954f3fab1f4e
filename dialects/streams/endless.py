"""Loops without an end, and the processes that have one: a region does not wait for these."""

from __future__ import annotations

from collections.abc import Iterator

from .._mlir import ir
from ..affine.loops import walk
from ..core.signature import callee_of, functions_of

ENDLESS = "endless"
"""Attribute of a function that never returns."""
_WAITING = frozenset(("allo.put", "allo.get", "allo.get_block"))


def is_endless(op: ir.Operation) -> bool:
    """Whether a loop's condition is a constant that holds."""
    if op.name != "scf.while":
        return False
    before = op.regions[0].blocks[0].operations
    condition = before[len(before) - 1].operation.operands[0]
    if isinstance(condition, ir.BlockArgument):
        return False
    owner = condition.owner.operation
    if owner.name != "arith.constant":
        return False
    return bool(ir.IntegerAttr(owner.attributes["value"]).value)


def loops_that_never_wait(module: ir.Module) -> Iterator[ir.Operation]:
    """Loops without an end of which an iteration may pass no put or get that waits.

    A simulator that runs one process at a time lets the others run once in each iteration of these.
    """
    for function in functions_of(module).values():
        for op in walk(function):
            if is_endless(op) and not surely_waits(op):
                yield op


def surely_waits(loop: ir.Operation) -> bool:
    """Whether each iteration of a loop waits for a FIFO, whichever way it takes."""
    return any(_waits(block) for region in loop.regions for block in region.blocks)


def _waits(block: ir.Block) -> bool:
    for op in (each.operation for each in block.operations):
        if op.name in _WAITING:
            return True
        if op.name in ("scf.if", "affine.if"):
            branches = [list(region.blocks) for region in op.regions]
            if all(blocks and _waits(blocks[0]) for blocks in branches):
                return True
    return False


def starts_endless(call: ir.Operation, functions: dict[str, ir.Operation]) -> bool:
    """Whether a call of a region starts a process that never ends."""
    return ENDLESS in functions[callee_of(call)].attributes
