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
    string_attribute,
    terminator,
)
from allo.dialects.affine.model import Statement
from allo.dialects.affine.substitute import replace_index

from .buffers import linear_map, make_guard
from .legality import model_of


def merge_update(module: ir.Module, loop: ir.Operation) -> bool:
    """Merge the nests that fill line buffers into ``loop``, which slides over the buffers' lines.

    ::

        for y:                                   for y:
            for x: fill(x)                           for x:
            if y >= 2:                     ──▶           fill(x)
                for x: use(x)                            if y >= 2:
                                                             use(x)

    It applies where the fill runs no more often than the loop, nothing else stands between them,
    and no dependence breaks; the two then run as one pipeline. Fills of other arrays and of buffers
    further out follow. Returns whether anything was merged.
    """
    merged = False
    while _merge_nearest(module, loop):
        merged = True
    return merged


def _merge_nearest(module: ir.Module, loop: ir.Operation) -> bool:
    fill, between = _fill_before(loop)
    guard = None
    if fill is None:
        guard = parent_of(loop)
        if guard is None or guard.name != "affine.if" or between is None:
            return False
        if len(list(guard.regions[1].blocks)) or _operations(guard)[-1] != loop:
            return False
        fill, outer = _fill_before(guard)
        between = [*(outer or []), *between]
    if fill is None or between is None:
        return False
    roots = [fill, *between, guard or loop]
    for ahead in _offsets(fill, loop):
        if _legal(module, roots, fill, ahead):
            _merge(fill, guard, loop, ahead, between)
            return True
    return False


def loop_after(fill: ir.Operation) -> ir.Operation | None:
    """The loop that follows the one filling a buffer, perhaps under a condition.

    None for a reduction, which reads the whole window, and where something else follows.
    """
    order = [op.operation for op in fill.block.operations]
    rest = [op for op in order[order.index(fill) + 1 :] if op.name != "memref.alloc"]
    if rest and rest[0].name == "affine.if":
        rest = _operations(rest[0])[-1:]
    if not rest or not is_affine_loop(rest[0]) or "reduction" in rest[0].attributes:
        return None
    return rest[0]


def _operations(guard: ir.Operation) -> list[ir.Operation]:
    block = guard.regions[0].blocks[0]
    return [op.operation for op in block.operations][:-1]


def _fill_before(op: ir.Operation) -> tuple[ir.Operation | None, list[ir.Operation] | None]:
    """The loop that fills a buffer next before an operation, and the allocations between.

    No loop where nothing but allocations stands before it; no list where anything else does.
    """
    allocations: list[ir.Operation] = []
    before: list[ir.Operation] = []
    for other in op.block.operations:
        if other.operation == op:
            break
        before.append(other.operation)
    for other in reversed(before):
        if other.name == "memref.alloc":
            allocations.append(other)
        elif is_affine_loop(other) and "_reuse_" in (string_attribute(other, "loop_name") or ""):
            return other, allocations
        else:
            return None, None
    return None, allocations


def _offsets(fill: ir.Operation, loop: ir.Operation) -> range:
    """How far the fill's index may be ahead of the loop's: the least first, so that an element is
    filled in the iteration that reads it. None where the fill runs more often than the loop."""
    if not is_affine_loop(loop):
        return range(0)
    a, b = spec_of(fill), spec_of(loop)
    first, second = a.constant_bounds(), b.constant_bounds()
    if first is None or second is None or (a.step, b.step) != (1, 1):
        return range(0)
    return range(first[1] - second[1], first[0] - second[0] + 1)


def _legal(
    module: ir.Module, roots: Sequence[ir.Operation], fill: ir.Operation, ahead: int
) -> bool:
    model = model_of(module, roots)

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
    guard: ir.Operation | None,
    loop: ir.Operation,
    ahead: int,
    allocations: Sequence[ir.Operation],
) -> None:
    for op in reversed(allocations):
        op.move_before(fill)
    body = body_operations(loop)
    index = induction_variable(loop)
    bounds, last = spec_of(loop).constant_bounds(), spec_of(fill).constant_bounds()
    if bounds is None or last is None:
        raise TypeError("merged loops have constant bounds")
    if guard is not None:
        loop.move_before(guard)
    before = body[0]
    late = [linear_map([(index, 1)], ahead - last[0])] if last[0] - ahead > bounds[0] else []
    early = [linear_map([(index, -1)], last[1] - ahead - 1)] if last[1] - ahead < bounds[1] else []
    if late or early:
        rest = make_guard([*late, *early], fill.location, ir.InsertionPoint(before))
        before = terminator(rest.regions[0].blocks[0])
    for op in body_operations(fill):
        op.move_before(before)
    replace_index(induction_variable(fill), linear_map([(index, 1)], ahead))
    if guard is not None:
        _move_condition(guard, loop, body)
    fill.erase()


def _move_condition(guard: ir.Operation, loop: ir.Operation, body: Sequence[ir.Operation]) -> None:
    """Put a copy of the guard's condition around ``body`` at the end of the loop."""
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
    guard.erase()
