"""Independent loops move inside, where they go along the rows of arrays.

::

    for j:                          for j:
        out[i, j] = 0                   out[i, j] = 0
        for k:               →      for k:
            out[i, j] +=                for j:
              a[i, k] * b[k, j]             out[i, j] += a[i, k] * b[k, j]

The inner loop then reads memory in order, and LLVM makes vectors of it. A loop moves only if no two of
its iterations touch an element that one of them writes (:meth:`Body.is_independent`): each element
sees the same operations in the same order, so that floats keep their bits.
"""

from __future__ import annotations

from allo.dialects._mlir import ir
from allo.dialects.affine.loops import (
    LoopSpec,
    body_operations,
    build_loop,
    induction_variable,
    inner_point,
    is_affine_loop,
    move_body,
    spec_of,
)
from allo.dialects.core.effects import EffectAnalysis

from .accesses import Body, read_body, uses_index

LEAST_TRIPS = 8
"""A shorter loop gains nothing from vectors."""


def move_inside(loop: ir.Operation, memory: EffectAnalysis) -> None:
    """Move a loop, and then those in it, inside the loops in its body where that pays, in place."""
    inner = [op for op in body_operations(loop) if is_affine_loop(op)]
    if not inner:
        return
    spec = spec_of(loop)
    trips = spec.trip_count()
    body = read_body(loop, memory) if trips is None or trips >= LEAST_TRIPS else None
    if body is None or not any(_pays(body, op) for op in inner) or not body.is_independent():
        for op in inner:
            move_inside(op, memory)
        return
    parts = _distributed(loop, spec)
    for part in parts:
        operations = body_operations(part)
        if len(operations) == 1 and is_affine_loop(operations[0]):
            found = read_body(part, memory)
            if found is not None and _pays(found, operations[0]):
                part = _swapped(part, operations[0])
        for op in body_operations(part):
            if is_affine_loop(op):
                move_inside(op, memory)


def _pays(body: Body, inner: ir.Operation) -> bool:
    """Whether the loop goes along rows where a loop inside ``inner`` goes across them."""
    loops = (inner, *(op for op in body.loops if _holds(inner, op)))
    if any(uses_index(op.operands, body.index) for op in loops):
        return False
    return any(
        any(access.is_strided(induction_variable(op)) for access in accesses)
        and not any(access.is_strided(body.index) for access in accesses)
        for op, accesses in body.innermost
        if op in loops
    )


def _holds(outer: ir.Operation, op: ir.Operation) -> bool:
    parent = op.parent
    while parent is not None:
        if parent.operation == outer:
            return True
        parent = parent.operation.parent
    return False


def _distributed(loop: ir.Operation, spec: LoopSpec) -> list[ir.Operation]:
    """A loop for each loop in the body and for what lies between two of them; the one given if it
    cannot be divided, for a value made in one part is used in another."""
    parts: list[list[ir.Operation]] = []
    for op in body_operations(loop):
        if op.name == "arith.constant":
            op.move_before(loop)
        elif is_affine_loop(op) or not parts or is_affine_loop(parts[-1][-1]):
            parts.append([op])
        else:
            parts[-1].append(op)
    if len(parts) < 2 or any(_leaves(op, part) for part in parts for op in part):
        return [loop]
    made = []
    for part in parts:
        target = build_loop(spec, ir.InsertionPoint(loop))
        made.append(target)
        end = inner_point(target)
        copies = {}
        for op in part:
            copy = op.clone(end).operation
            for result, twin in zip(op.results, copy.results, strict=True):
                copies[result] = twin
            _rename(copy, {**copies, induction_variable(loop): induction_variable(target)})
    loop.erase()
    return made


def _leaves(op: ir.Operation, part: list[ir.Operation]) -> bool:
    """Whether a result of an operation is used outside of its part of the body."""
    return any(
        not any(user == mine or _holds(mine, user) for mine in part)
        for result in op.results
        for user in (use.owner.operation for use in result.uses)
    )


def _rename(op: ir.Operation, names: dict[ir.Value, ir.Value]) -> None:
    def visit(inner: ir.Operation) -> ir.WalkResult:
        for position, operand in enumerate(inner.operands):
            if operand in names:
                inner.operands[position] = names[operand]
        return ir.WalkResult.ADVANCE

    op.walk(visit)


def _swapped(outer: ir.Operation, inner: ir.Operation) -> ir.Operation:
    """The perfect nest of two loops the other way round; its new outer loop."""
    first = build_loop(spec_of(inner), ir.InsertionPoint(outer))
    second = build_loop(spec_of(outer), inner_point(first))
    move_body(inner, second)
    induction_variable(inner).replace_all_uses_with(induction_variable(first))
    induction_variable(outer).replace_all_uses_with(induction_variable(second))
    outer.erase()
    return first
