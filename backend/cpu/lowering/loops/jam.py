"""Several steps of a loop that adds to a row are made in one pass over the row.

::

    for k:                          for k in steps of 4:
        for j:               →          for j:
            c[j] += a[k] * b[k, j]          c[j] += a[k] * b[k, j]
                                            c[j] += a[k + 1] * b[k + 1, j]
                                            …

The element then stays in a register for four additions, which keep their order. The passes over j
must be independent of each other across the four steps (:meth:`Body.is_independent`).

Where the inner loop is a sum of floats and the outer loop is independent, four sums grow side by
side: none waits for the additions of another::

    for i:                          for i in steps of 4:
        for j:               →          for j:
            c[i] += a[i, j] * b[j]          c[i] += a[i, j] * b[j]
                                            c[i + 1] += a[i + 1, j] * b[j]
                                            …
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
    join_bounds,
    move_body,
    spec_of,
)
from allo.dialects.affine.maps import BoundMap, constant_map, identity_map
from allo.dialects.affine.substitute import replace_index, simplify
from allo.dialects.core.effects import EffectAnalysis

from .accesses import Body, read_body, uses_index

STEPS = (4, 5, 6, 3)
"""How many steps are made at once: the first number that divides all of them, else the first."""
_FLOAT_OPERATIONS = ("arith.addf", "arith.subf", "arith.mulf", "arith.divf")
MOST_OPERATIONS = 40
"""A longer body has other work to do than to load and store its sums."""


def jam(loop: ir.Operation, memory: EffectAnalysis) -> None:
    """Make several steps of the loops in ``loop``, and of itself, at once where that pays, in place."""
    inner = body_operations(loop)
    if len(inner) != 1 or not is_affine_loop(inner[0]) or not _has_steps(loop, inner[0]):
        for op in inner:
            if is_affine_loop(op):
                jam(op, memory)
        return
    if any(is_affine_loop(op) for op in body_operations(inner[0])):
        jam(inner[0], memory)
        return
    body = read_body(inner[0], memory)
    if body is None or len(body_operations(inner[0])) > MOST_OPERATIONS:
        return
    if _adds_to_rows(body, loop) or _waits(body, loop, memory):
        _jam(loop)


def _has_steps(loop: ir.Operation, inner: ir.Operation) -> bool:
    spec = spec_of(loop)
    trips = spec.trip_count()
    return (
        spec.step == 1
        and len(spec.lower.results) == len(spec.upper.results) == 1
        and (trips is None or trips >= min(STEPS))
        and not uses_index(inner.operands, induction_variable(loop))
    )


def _adds_to_rows(body: Body, loop: ir.Operation) -> bool:
    """Whether the inner loop adds to elements that rest while the outer one runs."""
    index = induction_variable(loop)
    if any(access.is_strided(body.index) for access in body.accesses):
        return False
    rests = any(access.writes and access.stride(index) == 0 for access in body.accesses)
    return rests and body.is_independent(also_fixed_in=[index])


def _waits(body: Body, loop: ir.Operation, memory: EffectAnalysis) -> bool:
    """Whether steps of the inner loop wait for floats of others, and those of the outer one do not."""
    if body.is_independent():
        return False
    if not any(op.name in _FLOAT_OPERATIONS for op in body_operations(body.loop)):
        return False
    outer = read_body(loop, memory)
    return outer is not None and outer.is_independent()


def _jam(loop: ir.Operation) -> None:
    spec = spec_of(loop)
    trips = spec.trip_count()
    steps = next((n for n in STEPS if trips is not None and trips % n == 0), STEPS[0])
    middle = _whole_steps(spec, steps)
    main = build_loop(
        LoopSpec(spec.lower, middle, steps, spec.attributes, spec.location), ir.InsertionPoint(loop)
    )
    row = build_loop(spec_of(body_operations(loop)[0]), inner_point(main))
    for step in range(steps):
        copy = loop.clone(ir.InsertionPoint(row)).operation
        index = identity_map([induction_variable(main)])
        moved = ir.AffineExpr.get_add(index.results[0], ir.AffineExpr.get_constant(step))
        replace_index(induction_variable(copy), index.alone(moved))
        for op in body_operations(copy):
            if not is_affine_loop(op):  # k + 1, for what is not an affine subscript
                op.move_before(row)
                continue
            induction_variable(op).replace_all_uses_with(induction_variable(row))
            move_body(op, row)
        copy.erase()
    if trips is not None and trips % steps == 0:
        loop.erase()
        return
    rest = LoopSpec(
        simplify(join_bounds(spec.lower, middle)), spec.upper, 1, spec.attributes, spec.location
    )
    target = build_loop(rest, ir.InsertionPoint(loop))
    move_body(loop, target)
    induction_variable(loop).replace_all_uses_with(induction_variable(target))
    loop.erase()


def _whole_steps(spec: LoopSpec, steps: int) -> BoundMap:
    """Where the last whole group of steps ends; below the lower bound in a loop that has none."""
    bounds = spec.constant_bounds()
    if bounds is not None:
        low, high = bounds
        return constant_map(low + (high - low) // steps * steps)
    both = join_bounds(spec.lower, spec.upper)
    low_expr, high_expr = both.results
    negative = ir.AffineExpr.get_mul(low_expr, ir.AffineExpr.get_constant(-1))
    count = ir.AffineExpr.get_constant(steps)
    groups = ir.AffineExpr.get_floor_div(ir.AffineExpr.get_add(high_expr, negative), count)
    whole = ir.AffineExpr.get_mul(groups, count)
    return simplify(both.alone(ir.AffineExpr.get_add(low_expr, whole)))
