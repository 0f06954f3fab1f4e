"""A loop is divided where one of its iterations writes an element that all of them read.

::

    for j in range(N):              →       for j in range(k):
        p[i, j] += p[i, k] + p[k, j]            p[i, j] += p[i, k] + p[k, j]
                                            for j in range(k, k + 1):
                                                p[i, j] += p[i, k] + p[k, j]
                                            for j in range(k + 1, N):
                                                p[i, j] += p[i, k] + p[k, j]

``p[i, k]`` changes in iteration k alone, so the loops before it and behind it read it once. The loop over i
around them is divided at k in the same way, for all of its iterations read row k. The rows then differ,
which LLVM asks when the program runs, and makes vectors of the loops. The order of the iterations
stays as it was, so no result can change.
"""

from __future__ import annotations

from allo.dialects._mlir import ir
from allo.dialects.affine.loops import (
    LoopSpec,
    body_operations,
    build_loop,
    induction_variable,
    is_affine_loop,
    is_defined_inside,
    join_bounds,
    move_body,
    parent_of,
    spec_of,
)
from allo.dialects.affine.maps import BoundMap, bound_map
from allo.dialects.core.effects import EffectAnalysis
from allo.dialects.ranges.values import expression_interval

from .accesses import Access, Body, Row, read_body, uses_index

LEAST_TRIPS = 32
"""A shorter loop gains nothing from vectors on both sides of a meeting."""
MOST_OPERATIONS = 32
"""The operations of a body, which stand in three loops then, or in nine."""


def divide_at_meetings(loop: ir.Operation, memory: EffectAnalysis) -> None:
    """Divide the innermost loops of a nest, and those around them, at their meetings, in place."""
    inner = [op for op in body_operations(loop) if is_affine_loop(op)]
    for op in inner:
        divide_at_meetings(op, memory)
    if not inner:
        _divide_nest(loop, memory)


def _divide_nest(inner: ir.Operation, memory: EffectAnalysis) -> None:
    if len(body_operations(inner)) > MOST_OPERATIONS:
        return
    body = read_body(inner, memory)
    place = _meeting_of(body) if body is not None else None
    if body is None or place is None:
        return
    if any(access.is_strided(body.index) for access in body.accesses):
        return
    outer = parent_of(inner)
    around = None
    if outer is not None and is_affine_loop(outer) and len(body_operations(outer)) == 1:
        around = read_body(outer, memory)
    for part in _divided(inner, place):
        _read_once(part)
    row = _meeting_of(around) if around is not None else None
    if around is not None and row is not None:
        _divided(around.loop, row)


def _meeting_of(body: Body) -> Row | None:
    """The iteration that meets all others, as a sum of values from outside; None unless there is one."""
    spec = spec_of(body.loop)
    trips = spec.trip_count()
    if spec.step != 1 or (trips is not None and trips < LEAST_TRIPS):
        return None
    written = {access.key for access in body.accesses if access.writes}
    places: list[Row] = []
    for key in written:
        found = _meetings_in([a for a in body.accesses if a.key == key], body)
        if found is None:
            return None
        places += found
    return places[0] if places and all(place == places[0] for place in places) else None


def _meetings_in(accesses: list[Access], body: Body) -> list[Row] | None:
    """Where iterations meet in one array; None where they meet in more than single iterations."""
    if not all(a.exact and a.shape == accesses[0].shape for a in accesses):
        return None
    for dim in range(len(accesses[0].shape)):
        found = _meetings_along([(a.writes, a.rows[dim]) for a in accesses], body)
        if found is not None:
            return found
    return None


def _meetings_along(rows: list[tuple[bool, Row | None]], body: Body) -> list[Row] | None:
    """The same in one dimension: one subscript moves with the iterator, the others rest and are read."""
    moving: Row | None = None
    resting: list[Row] = []
    for writes, row in rows:
        if row is None or not (body.inside - {body.index}).isdisjoint(row):
            return None
        if body.index not in row:
            if writes:
                return None
            resting.append(row)
        elif row.get(body.index) != 1 or (moving is not None and row != moving):
            return None
        else:
            moving = row
    if moving is None:
        return None
    return [_difference(row, moving, body.index) for row in resting]


def _difference(left: Row, right: Row, index: ir.Value) -> Row:
    """The value of the iterator for which two subscripts are equal."""
    total = dict(left)
    for value, factor in right.items():
        if value is None or value != index:
            total[value] = total.get(value, 0) - factor
    return {value: factor for value, factor in total.items() if factor}


def _divided(loop: ir.Operation, place: Row) -> tuple[ir.Operation, ir.Operation]:
    """Make three loops of one; those before and behind the meeting."""
    spec = spec_of(loop)
    at, behind = _bound(place, 0), _bound(place, 1)
    bounds = (
        (spec.lower, join_bounds(spec.upper, at)),
        (join_bounds(spec.lower, at), join_bounds(spec.upper, behind)),
        (join_bounds(spec.lower, behind), spec.upper),
    )
    made = []
    for lower, upper in bounds:
        part = LoopSpec(lower, upper, 1, spec.attributes, spec.location)
        target = build_loop(part, ir.InsertionPoint(loop))
        copy = loop.clone(ir.InsertionPoint(loop)).operation
        move_body(copy, target)
        induction_variable(copy).replace_all_uses_with(induction_variable(target))
        copy.erase()
        made.append(target)
    loop.erase()
    return made[0], made[2]


def _read_once(loop: ir.Operation) -> None:
    """Move loads that rest, and that no iteration of this loop writes, in front of it."""
    index = induction_variable(loop)
    for op in body_operations(loop):
        if op.name == "affine.load" and not uses_index(op.operands, index) and _is_inside(op):
            op.move_before(loop)


def _is_inside(load: ir.Operation) -> bool:
    """Whether an element exists also where the loop around the load has no iterations."""
    bound = bound_map(load)
    if any(is_defined_inside(value, load.parent.operation) for value in bound.operands):
        return False
    for expr, extent in zip(bound.results, load.operands[0].type.shape, strict=True):
        span = expression_interval(expr, bound, load)
        if span is None or span[0] < 0 or span[1] >= extent:
            return False
    return True


def _bound(place: Row, more: int) -> BoundMap:
    values = [value for value in place if value is not None]
    total = ir.AffineExpr.get_constant(place.get(None, 0) + more)
    for position, value in enumerate(values):
        factor = ir.AffineExpr.get_constant(place[value])
        term = ir.AffineExpr.get_mul(ir.AffineExpr.get_dim(position), factor)
        total = ir.AffineExpr.get_add(total, term)
    return BoundMap(ir.AffineMap.get(len(values), 0, [total]), tuple(values))
