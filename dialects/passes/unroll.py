"""Loops marked ``unroll``, and loops inside a pipelined loop, become straight-line code.

Assumes core IR. ``unroll = 0`` and every loop inside a loop with ``pipeline_ii`` are unrolled
completely, ``unroll = n`` makes n copies of the body. Where the number of iterations is not known
exactly (``min`` bounds of a split that does not divide, triangles) each copy that may not run
stands under an ``affine.if``. The attribute is gone afterwards; loops that cannot be unrolled are
left as they were and reported.
"""

from __future__ import annotations

from dataclasses import dataclass

from .._mlir import ir
from ..affine.loops import (
    LoopSpec,
    body_of,
    body_operations,
    build_loop,
    constant_difference,
    induction_variable,
    is_affine_loop,
    is_loop,
    join_bounds,
    spec_of,
    string_attribute,
    walk,
)
from ..affine.maps import BoundMap, Condition, condition_of, constant_map
from ..affine.ranges import value_range
from ..affine.substitute import replace_index, simplify
from ..core.locations import place_of
from ..diagnostics import SourcePlace


@dataclass(frozen=True, slots=True)
class NotUnrolled:
    """A loop that had to be unrolled and could not be: its name, place and the reason."""

    name: str
    place: SourcePlace | None
    reason: str


def unroll_loops(module: ir.Module, *, limit: int = 1 << 16) -> list[NotUnrolled]:
    """Unroll what is marked and what stands in pipelined loops, in place.

    Args:
        limit: the most copies one loop may become.

    Returns:
        The loops that had to be unrolled and could not be.
    """
    skipped: list[NotUnrolled] = []
    with module.context, ir.Location.unknown():
        for function in module.body.operations:
            for region in function.operation.regions:
                for block in region.blocks:
                    _visit(block, False, limit, skipped)
        fold_conditions(module.operation)
    return skipped


def unroll_completely(op: ir.Operation) -> bool:
    """Unroll one ``affine.for`` whatever its marks; whether its extent allows it."""
    spec = spec_of(op)
    most, exact = _trips(op, spec)
    if most is None:
        return False
    _unroll_completely(op, spec, most, exact=exact)
    return True


def _visit(block: ir.Block, pipelined: bool, limit: int, skipped: list[NotUnrolled]) -> None:
    for child in list(block.operations):
        op = child.operation
        inside = pipelined or (is_loop(op) and "pipeline_ii" in op.attributes)
        for region in op.regions:
            for inner in region.blocks:
                _visit(inner, inside, limit, skipped)
        if is_loop(op) and (pipelined or "unroll" in op.attributes):
            _unroll(op, pipelined, limit, skipped)


def _unroll(op: ir.Operation, complete: bool, limit: int, skipped: list[NotUnrolled]) -> None:
    name = string_attribute(op, "loop_name") or "loop"
    factor = ir.IntegerAttr(op.attributes["unroll"]).value if "unroll" in op.attributes else 0
    if not is_affine_loop(op):
        reason = "its bounds are known only when it runs"
        skipped.append(NotUnrolled(name, place_of(op), reason))
        return
    spec = spec_of(op)
    most, exact = _trips(op, spec)
    if complete or factor == 0 or (most is not None and factor >= most):
        if most is None or most > limit:
            reason = "its extent is unknown" if most is None else f"it has {most} iterations"
            skipped.append(NotUnrolled(name, place_of(op), reason))
            return
        _unroll_completely(op, spec, most, exact=exact)
    elif factor > 1:
        guarded = most is None or not exact or most % factor != 0
        _unroll_by(op, spec, factor, guarded=guarded)
    else:
        del op.attributes["unroll"]


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


def _unroll_by(op: ir.Operation, spec: LoopSpec, factor: int, *, guarded: bool) -> None:
    attributes = {n: a for n, a in spec.attributes.items() if n != "unroll"}
    wide = LoopSpec(spec.lower, spec.upper, spec.step * factor, attributes, spec.location)
    loop = build_loop(wide, ir.InsertionPoint(op))
    iv = induction_variable(loop)
    end = body_of(loop).operations[0]
    for number in range(factor):
        d = ir.AffineExpr.get_dim(0)
        moved = ir.AffineExpr.get_add(d, ir.AffineExpr.get_constant(number * spec.step))
        index = BoundMap(ir.AffineMap.get(1, 0, [moved]), (iv,))
        copy = op.clone(ir.InsertionPoint(end)).operation
        replace_index(induction_variable(copy), index)
        _place_body(copy, index, spec, guarded=guarded and number > 0)
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
