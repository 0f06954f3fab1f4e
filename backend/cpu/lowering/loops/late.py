"""Of the least or greatest of several values, what the iteration before computes comes last.

``min(min(left + 1, above + 1), corner)``, with ``left`` from the iteration before, is
``min(min(above + 1, corner), left + 1)``: a processor then has the minimum of the others at hand, and the
next iteration waits for one comparison and no longer for two. Integers only, for which the order of the
values makes no difference.
"""

from __future__ import annotations

from allo.dialects._mlir import ir
from allo.dialects.affine.loops import body_of, body_operations, is_affine_loop, walk
from allo.dialects.core.effects import EffectAnalysis

_CHOICES = frozenset(("arith.minsi", "arith.minui", "arith.maxsi", "arith.maxui"))


def take_late_last(loop: ir.Operation, memory: EffectAnalysis) -> None:
    """Order the operands of minima and maxima in the innermost loops in ``loop``, or in itself, in place.

    Late is what depends on a value that a loop carries, or on a scalar that it writes.
    """
    loops = [op for op in (loop, *walk(loop)) if is_affine_loop(op)]
    # Found before any of them is changed: what is erased in one cannot be read any more.
    for op in [each for each in loops if not any(map(is_affine_loop, walk(each)))]:
        _order_in(op, memory)


def _order_in(loop: ir.Operation, memory: EffectAnalysis) -> None:
    operations = body_operations(loop)
    if not any(op.name in _CHOICES for op in operations):
        return
    written = {memory.memory_of(op.operands[1]).key for op in walk(loop) if _writes_scalar(op)}
    late: set[ir.Value] = set(list(body_of(loop).arguments)[1:])
    for op in operations:
        is_scalar = op.name == "affine.load" and op.operands[0].type.rank == 0
        carried = is_scalar and memory.memory_of(op.operands[0]).key in written
        if carried or any(operand in late for operand in op.operands):
            late.update(op.results)
    for op in operations:
        if op.name in _CHOICES and not _continues(op):
            _order(op, late)


def _writes_scalar(op: ir.Operation) -> bool:
    return bool(op.name == "affine.store" and op.operands[1].type.rank == 0)


def _continues(op: ir.Operation) -> bool:
    """Whether an operation is an operand of one of its kind, and of nothing else."""
    users = [use.owner.operation for use in op.results[0].uses]
    return bool(len(users) == 1 and users[0].name == op.name and users[0].block == op.block)


def _order(root: ir.Operation, late: set[ir.Value]) -> None:
    """Put the late leaves of a tree of equal operations behind the others, in place."""
    leaves, inner = _tree(root)
    early = [value for value in leaves if value not in late]
    if len(leaves) < 3 or not early or len(early) == len(leaves):
        return
    ordered = early + [value for value in leaves if value in late]
    total, *others = ordered
    with ir.InsertionPoint(root), root.location:
        for value in others:
            made = ir.Operation.create(root.name, results=[total.type], operands=[total, value])
            total = made.results[0]
            if value in late or made.operands[0] in late:
                late.add(total)
    root.results[0].replace_all_uses_with(total)
    for op in (root, *inner):
        op.erase()


def _tree(root: ir.Operation) -> tuple[list[ir.Value], list[ir.Operation]]:
    """The leaves of a tree in order, and its operations below the root, users before operands."""
    leaves: list[ir.Value] = []
    inner: list[ir.Operation] = []
    for operand in root.operands:
        owner = operand.owner
        if not isinstance(owner, ir.Block):
            op = owner.operation
            if op.name == root.name and op.block == root.block and _continues(op):
                deeper, below = _tree(op)
                leaves += deeper
                inner += [op, *below]
                continue
        leaves.append(operand)
    return leaves, inner
