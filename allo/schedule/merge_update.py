"""Fill a line buffer in the very loop that reads it, instead of in a loop of its own before it."""

from __future__ import annotations

from collections.abc import Sequence

from allo.dialects._mlir import ir
from allo.dialects.affine.dependence import find_violation
from allo.dialects.affine.loops import (
    body_operations,
    induction_variable,
    inner_point,
    is_affine_loop,
    parent_of,
    spec_of,
)
from allo.dialects.affine.maps import replace_index
from allo.dialects.affine.model import Statement

from .buffers import linear_map
from .legality import model_of


def merge_update(module: ir.Module, loop: ir.Operation) -> bool:
    """Merge the nests that fill line buffers into ``loop``, which slides over the buffers' lines.

    ::

        for y:                                   for y:
            for x: fill(x)                           for x:
            if y >= 2:                     ──▶           fill(x)
                for x: use(x)                            if y >= 2:
                                                             use(x)

    It applies where both loops run equally often, nothing else stands between them, and no
    dependence breaks; the two then run as one pipeline. Fills of buffers further out follow.
    Returns whether anything was merged.
    """
    merged = False
    while _merge_nearest(module, loop):
        merged = True
    return merged


def _merge_nearest(module: ir.Module, loop: ir.Operation) -> bool:
    guard = parent_of(loop)
    if guard is None or guard.name != "affine.if" or len(list(guard.regions[1].blocks)):
        return False
    inside = _operations(guard)
    allocations = [op for op in inside if op.name == "memref.alloc"]
    if [op for op in inside if op not in allocations] != [loop]:
        return False
    fill = _before(guard)
    if fill is None:
        return False
    ahead = _offset(fill, loop)
    if ahead is None or not _legal(module, fill, guard, ahead):
        return False
    _merge(fill, guard, loop, ahead, allocations)
    return True


def _operations(guard: ir.Operation) -> list[ir.Operation]:
    block = guard.regions[0].blocks[0]
    return [op.operation for op in block.operations][:-1]


def _before(guard: ir.Operation) -> ir.Operation | None:
    """The loop directly before the guard."""
    last: ir.Operation | None = None
    for op in guard.block.operations:
        if op.operation == guard:
            return last if last is not None and is_affine_loop(last) else None
        last = op.operation
    return None


def _offset(fill: ir.Operation, loop: ir.Operation) -> int | None:
    """How far the fill's index is ahead of the loop's; None where they run differently often."""
    if not is_affine_loop(loop):
        return None
    a, b = spec_of(fill), spec_of(loop)
    first, second = a.constant_bounds(), b.constant_bounds()
    if first is None or second is None or (a.step, b.step) != (1, 1):
        return None
    ahead = first[0] - second[0]
    return ahead if first[1] - second[1] == ahead else None


def _legal(module: ir.Module, fill: ir.Operation, guard: ir.Operation, ahead: int) -> bool:
    model = model_of(module, [fill, guard])

    def merged(statement: Statement) -> list[str]:
        time = statement.time()
        if not statement.loops:
            return ["-1", *time]
        if statement.loops[0].op == fill:
            return ["0", f"({time[1]}) - ({ahead})", "0", *time[2:]]
        return ["0", time[1], "1", *time[2:]]

    times: Sequence[list[str]] = [merged(statement) for statement in model.statements]
    return find_violation(model, times) is None


def _merge(
    fill: ir.Operation,
    guard: ir.Operation,
    loop: ir.Operation,
    ahead: int,
    allocations: Sequence[ir.Operation],
) -> None:
    for op in allocations:
        op.move_before(fill)
    body = body_operations(loop)
    loop.move_before(guard)
    first = body[0]
    for op in body_operations(fill):
        op.move_before(first)
    replace_index(induction_variable(fill), linear_map([(induction_variable(loop), 1)], ahead))
    condition = ir.Operation.create(
        "affine.if",
        operands=list(guard.operands),
        attributes={"condition": guard.attributes["condition"]},
        regions=2,
        loc=guard.location,
        ip=inner_point(loop),
    )
    block = condition.regions[0].blocks.append()
    end = ir.Operation.create("affine.yield", loc=guard.location, ip=ir.InsertionPoint(block))
    for op in body:
        op.move_before(end)
    fill.erase()
    guard.erase()
