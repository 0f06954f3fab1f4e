"""``interleave``: a reduction accumulates in several partial results that take turns."""

from __future__ import annotations

from allo.dialects._mlir import ir
from allo.dialects.affine.loops import (
    LoopSpec,
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
from allo.dialects.core.locations import place_of
from allo.dialects.diagnostics import ScheduleError
from allo.schedule.analysis.buffers import guard_body
from allo.schedule.analysis.partial import Partials, reductions_of
from allo.schedule.handles import Axis
from allo.schedule.primitive import check_integer, primitive
from allo.schedule.primitives.loops.split import CUSTOMISATION
from allo.schedule.resolve import find_loop
from allo.schedule.state import ScheduleState


@primitive
def interleave(s: ScheduleState, axis: Axis, factor: int) -> None:
    """Let a reduction accumulate in ``factor`` partial results that take turns, iteration by iteration.

    ::

                                       x_part = [0] * 4
        for k in range(64):            for k.outer in range(16):
            x = x + a[k]      ──▶          for k.inner in range(4):
                                               x_part[k.inner] += a[4 * k.outer + k.inner]
                                       x += (x_part[0] + x_part[1]) + (x_part[2] + x_part[3])

    An update then depends on the one ``factor`` iterations before. A pipeline starts an iteration in
    every cycle where ``factor`` is above the latency of the operation. The iterations run in the order
    they had. Where the factor does not divide their number, the last tile is guarded.

    Integer results stay as they are. Float sums and products are grouped in another way and round
    otherwise than before; every target gives the same bits.

    Raises:
        ScheduleError: a factor below 2 or above the extent, or bounds that are not affine.
        IllegalTransformError: the loop carries no reduction.
    """
    loop = find_loop(s.module, s.top_func_name, axis, "interleave")
    place = place_of(loop.op)
    what = f"interleave {loop.name}"
    factor = check_integer(
        factor, 2, f"{what}: the factor", "give the number of partial results.", place
    )
    if not is_affine_loop(loop.op) or len(spec_of(loop.op).lower.results) != 1:
        raise ScheduleError(
            f"{what}: its bounds are not affine.",
            place,
            help="only loops whose bounds are constants or affine in outer loops can be interleaved.",
        )
    extent = spec_of(loop.op).trip_count()
    if extent is not None and factor > extent:
        raise ScheduleError(
            f"{what}: the factor {factor} is above the extent {extent}.",
            place,
            help=f"use a factor from 2 to {extent}.",
        )
    reductions = reductions_of(s.module, loop.op, what, place)
    parts = [Partials(loop.function, loop.op, r, factor, "part") for r in reductions]
    for part in parts:
        part.fill_all(ir.InsertionPoint(loop.op))
    outer, inner = _tiles(loop.op, loop.name, factor)
    lane = identity_map([induction_variable(inner)])
    for part in parts:
        part.take_updates(lane)
    after = ir.InsertionPoint.after(outer)
    for part in parts:
        part.add_up(after)


def _tiles(op: ir.Operation, name: str, factor: int) -> tuple[ir.Operation, ir.Operation]:
    """Rewrite a loop as two whose inner one always has ``factor`` iterations."""
    spec = spec_of(op)
    shared = {n: a for n, a in spec.attributes.items() if n not in CUSTOMISATION}
    outer_attributes = shared | {"loop_name": ir.StringAttr.get(f"{name}.outer")}
    inner_attributes = {n: a for n, a in spec.attributes.items() if n != "op_name"}
    inner_attributes["loop_name"] = ir.StringAttr.get(f"{name}.inner")
    outer = build_loop(
        LoopSpec(constant_map(0), _number_of_tiles(spec, factor), 1, outer_attributes, op.location),
        ir.InsertionPoint(op),
    )
    inner = build_loop(
        LoopSpec(constant_map(0), constant_map(factor), 1, inner_attributes, op.location),
        inner_point(outer),
    )
    move_body(op, inner)
    index = _index(spec, factor, outer, inner)
    extent = spec.trip_count()
    if extent is None or extent % factor:
        guard_body(inner, _rest(spec, index))
    replace_index(induction_variable(op), index)
    op.erase()
    return outer, inner


def _number_of_tiles(spec: LoopSpec, factor: int) -> BoundMap:
    joined = join_bounds(spec.upper, spec.lower)
    *uppers, lower = joined.results
    step = factor * spec.step
    spans = [ir.AffineExpr.get_add(upper, lower * -1) for upper in uppers]
    counts = [ir.AffineExpr.get_ceil_div(span, step) for span in spans]
    made = ir.AffineMap.get(joined.map.n_dims, joined.map.n_symbols, counts)
    return simplify(BoundMap(made, joined.operands))


def _index(spec: LoopSpec, factor: int, outer: ir.Operation, inner: ir.Operation) -> BoundMap:
    """What the loop's iterator was, of the two new ones."""
    lower = spec.lower
    count = lower.map.n_dims
    tile = ir.AffineExpr.get_dim(count) * (factor * spec.step)
    within = ir.AffineExpr.get_dim(count + 1) * spec.step
    expr = lower.results[0] + tile + within
    made = ir.AffineMap.get(count + 2, lower.map.n_symbols, [expr])
    ivs = (induction_variable(outer), induction_variable(inner))
    return simplify(BoundMap(made, (*lower.dims, *ivs, *lower.symbols)))


def _rest(spec: LoopSpec, index: BoundMap) -> list[BoundMap]:
    """What is negative in an iteration that the loop did not have."""
    joined = join_bounds(spec.upper, index)
    *uppers, at = joined.results
    rows = [ir.AffineExpr.get_add(upper, at * -1) + -1 for upper in uppers]
    return [simplify(joined.alone(row)) for row in rows]
