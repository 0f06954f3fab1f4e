"""``split``: one loop becomes two."""

from __future__ import annotations

from allo.dialects._mlir import ir
from allo.dialects.affine.loops import (
    LoopSpec,
    body_of,
    build_loop,
    induction_variable,
    inner_point,
    is_affine_loop,
    move_body,
    spec_of,
)
from allo.dialects.affine.maps import BoundMap, constant_map
from allo.dialects.affine.substitute import replace_index, simplify
from allo.dialects.core.locations import place_of
from allo.dialects.diagnostics import ScheduleError
from allo.schedule.handles import Axis
from allo.schedule.primitive import check_integer, primitive
from allo.schedule.resolve import find_loop
from allo.schedule.state import ScheduleState

CUSTOMISATION = ("pipeline_ii", "rewind", "unroll", "parallel", "dataflow")


@primitive
def split(s: ScheduleState, axis: Axis, factor: int) -> None:
    """Tile a loop: ``axis.outer`` steps over tiles of ``factor`` iterations, ``axis.inner`` runs one.

    ::

        for i in range(10):            for i.outer in range(3):
            A[i] = …          ──▶          for i.inner in range(min(4, 10 - 4 * i.outer)):
                                               A[4 * i.outer + i.inner] = …

    The order of iterations stays, so it is always legal. Where ``factor`` divides the extent the
    inner bound is plainly ``factor``.

    Raises:
        ScheduleError: a factor that is not positive or not below the extent, or a loop whose
            bounds are not constants.
    """
    loop = find_loop(s.module, s.top_func_name, axis, "split")
    place = place_of(loop.op)
    factor = check_integer(
        factor, 1, f"split {loop.name}: the factor", "give the number of inner iterations.", place
    )
    if not is_affine_loop(loop.op):
        raise ScheduleError(
            f"split {loop.name}: its bounds are not affine.",
            place,
            help="only loops whose bounds are constants or affine in outer loops can be split.",
        )
    spec = spec_of(loop.op)
    bounds = spec.constant_bounds()
    if bounds is None:
        raise ScheduleError(
            f"split {loop.name}: its bounds depend on other values.",
            place,
            help="split needs constant bounds; split the outer loop instead.",
        )
    extent = spec.trip_count() or 0
    if factor >= extent:
        raise ScheduleError(
            f"split {loop.name}: the factor {factor} is not below the extent {extent}.",
            place,
            help=f"use a factor between 1 and {extent - 1}.",
        )
    split_loop(loop.op, loop.name, factor, bounds[0], extent)


def split_loop(
    op: ir.Operation, name: str, factor: int, lower: int, extent: int
) -> tuple[ir.Operation, ir.Operation]:
    """Rewrite a loop of constant bounds as two, outer and inner; see :func:`split`."""
    spec = spec_of(op)
    shared = {n: a for n, a in spec.attributes.items() if n not in CUSTOMISATION}
    outer_attributes = shared | {"loop_name": ir.StringAttr.get(f"{name}.outer")}
    inner_attributes = {n: a for n, a in shared.items() if n != "op_name"} | {
        n: spec.attributes[n] for n in CUSTOMISATION if n in spec.attributes
    }
    inner_attributes["loop_name"] = ir.StringAttr.get(f"{name}.inner")
    tiles = -(-extent // factor)
    outer = build_loop(
        LoopSpec(constant_map(0), constant_map(tiles), 1, outer_attributes, op.location),
        ir.InsertionPoint(op),
    )
    inner = build_loop(
        LoopSpec(
            constant_map(0),
            _inner_upper(outer, factor, extent),
            1,
            inner_attributes,
            op.location,
        ),
        inner_point(outer),
    )
    index = _rejoined_index(outer, inner, factor, lower, spec.step)
    move_body(op, inner)
    replace_index(induction_variable(op), index)
    op.erase()
    return outer, inner


def _inner_upper(outer: ir.Operation, factor: int, extent: int) -> BoundMap:
    if extent % factor == 0:
        return constant_map(factor)
    d = ir.AffineExpr.get_dim(0)
    rest = ir.AffineExpr.get_add(
        ir.AffineExpr.get_mul(d, ir.AffineExpr.get_constant(-factor)),
        ir.AffineExpr.get_constant(extent),
    )
    bound = ir.AffineMap.get(1, 0, [ir.AffineExpr.get_constant(factor), rest])
    return BoundMap(bound, (induction_variable(outer),))


def _rejoined_index(
    outer: ir.Operation, inner: ir.Operation, factor: int, lower: int, step: int
) -> BoundMap:
    o, i = ir.AffineExpr.get_dim(0), ir.AffineExpr.get_dim(1)
    tile = ir.AffineExpr.get_mul(o, ir.AffineExpr.get_constant(factor * step))
    within = ir.AffineExpr.get_mul(i, ir.AffineExpr.get_constant(step))
    total = ir.AffineExpr.get_add(tile, within)
    expr = ir.AffineExpr.get_add(total, ir.AffineExpr.get_constant(lower))
    operands = (body_of(outer).arguments[0], body_of(inner).arguments[0])
    return simplify(BoundMap(ir.AffineMap.get(2, 0, [expr]), operands))
