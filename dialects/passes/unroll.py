"""Loops become straight-line code.

Where the number of iterations is not known exactly (``min`` bounds of a split that does not divide,
triangles) each copy of the body that may not run stands under an ``affine.if``.
"""

from __future__ import annotations

from .._mlir import ir
from ..affine.loops import (
    LoopSpec,
    body_operations,
    constant_difference,
    induction_variable,
    join_bounds,
    spec_of,
    walk,
)
from ..affine.maps import BoundMap, Condition, condition_of, constant_map
from ..affine.substitute import replace_index, simplify
from ..ranges.indices import value_range


def unroll_completely(op: ir.Operation) -> bool:
    """Unroll one ``affine.for`` whatever its marks; whether its extent allows it."""
    spec = spec_of(op)
    most, exact = _trips(op, spec)
    if most is None:
        return False
    _unroll_completely(op, spec, most, exact=exact)
    return True


def _trips(op: ir.Operation, spec: LoopSpec) -> tuple[int | None, bool]:
    """The most iterations the loop runs, None for unknown; and whether it always runs that many."""
    count = spec.trip_count()
    if count is not None:
        return count, True
    if len(spec.lower.map.results) != 1:
        return None, False
    best: int | None = None
    for expr in spec.upper.map.results:
        span = constant_difference(spec.upper.alone(expr), spec.lower)
        if span is not None:
            best = span if best is None else min(best, span)
    exact = best is not None and len(spec.upper.map.results) == 1
    if best is None and (around := value_range([(induction_variable(op), 1)])) is not None:
        best = around[1] - around[0] + 1
    return (None if best is None else max(0, -(-best // spec.step))), exact


def _unroll_completely(op: ir.Operation, spec: LoopSpec, trips: int, *, exact: bool) -> None:
    low = spec.lower.constant()
    for number in range(trips):
        if low is not None:
            index = constant_map(low + number * spec.step)
        else:
            index = _offset(spec.lower, number * spec.step)
        copy = op.clone(ir.InsertionPoint(op)).operation
        replace_index(induction_variable(copy), index)
        _place_body(copy, index, spec, guarded=not exact)
    op.erase()


def _offset(lower: BoundMap, offset: int) -> BoundMap:
    moved = ir.AffineExpr.get_add(lower.map.results[0], ir.AffineExpr.get_constant(offset))
    return simplify(lower.alone(moved))


def _place_body(copy: ir.Operation, index: BoundMap, spec: LoopSpec, *, guarded: bool) -> None:
    """Put a copied loop's body in its place, under a guard where it may not run."""
    target = ir.InsertionPoint(copy)
    if guarded:
        condition = _below(index, spec.upper)
        guard = ir.Operation.create(
            "affine.if",
            operands=list(condition.exprs.operands),
            attributes={"condition": condition.attribute()},
            regions=2,
            loc=spec.location,
            ip=target,
        )
        block = guard.regions[0].blocks.append()
        end = ir.Operation.create("affine.yield", loc=spec.location, ip=ir.InsertionPoint(block))
        for op in body_operations(copy):
            op.move_before(end)
    else:
        for op in body_operations(copy):
            op.move_before(copy)
    copy.erase()


def _below(index: BoundMap, upper: BoundMap) -> Condition:
    """``index < every upper bound``."""
    rows = []
    for expr in upper.map.results:
        pair = join_bounds(upper.alone(expr), index)
        high, low = pair.map.results
        negative = ir.AffineExpr.get_mul(low, ir.AffineExpr.get_constant(-1))
        gap = ir.AffineExpr.get_add(
            high, ir.AffineExpr.get_add(negative, ir.AffineExpr.get_constant(-1))
        )
        rows.append(pair.alone(gap))
    return Condition(join_bounds(*rows), (False,) * len(rows))


def fold_conditions(root: ir.Operation) -> None:
    """Open each ``affine.if`` whose condition is a constant, and drop it where it never holds."""
    for op in list(walk(root))[::-1]:
        if op.name != "affine.if":
            continue
        condition = condition_of(op)
        rows = condition.exprs.map.results
        if not all(isinstance(row, ir.AffineConstantExpr) for row in rows):
            continue
        holds = all(
            row.value == 0 if equal else row.value >= 0
            for row, equal in zip(rows, condition.equal, strict=True)
        )
        for block in op.regions[0 if holds else 1].blocks:
            for inner in list(block.operations)[:-1]:
                inner.operation.move_before(op)
        op.erase()
