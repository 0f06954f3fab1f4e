"""``fuse``: consecutive loops become one."""

from __future__ import annotations

from allo.dialects._mlir import ir
from allo.dialects.affine.loops import (
    LoopSpec,
    build_loop,
    enclosing_loops,
    induction_variable,
    is_affine_loop,
    move_body,
    perfect_chain,
    spec_of,
)
from allo.dialects.affine.maps import BoundMap, constant_map
from allo.dialects.affine.substitute import replace_index
from allo.dialects.core.locations import place_of
from allo.dialects.diagnostics import ScheduleError
from allo.schedule.handles import Axis, LoopWrapper
from allo.schedule.primitive import primitive
from allo.schedule.resolve import find_loop
from allo.schedule.state import ScheduleState


@primitive
def fuse(s: ScheduleState, *axes: Axis) -> LoopWrapper:
    """Merge consecutive loops of a perfect nest, given outer to inner.

    ::

        s.fuse("i", "j")

        for i in range(4):              for i_j_fused in range(32):
            for j in range(8):    ──▶       A[i_j_fused // 8, i_j_fused % 8] = …
                A[i, j] = …

    The order of iterations stays, so it is always legal.

    Returns:
        The handle of the new loop, named after the old ones with ``_fused``.

    Raises:
        ScheduleError: fewer than two loops, loops not consecutive in this order, a nest that is
            not perfect, or bounds that are not constants.
    """
    if len(axes) < 2:
        raise ScheduleError(
            f"fuse needs at least two loops, got {len(axes)}.",
            help='name them outer to inner: s.fuse("i", "j").',
        )
    found = [find_loop(s.module, s.top_func_name, axis, "fuse") for axis in axes]
    chain = [f.op for f in found]
    what = f"fuse {', '.join(f.name for f in found)}"
    if chain[0] not in [*enclosing_loops(chain[-1])] or perfect_chain(chain[0], chain[-1]) != chain:
        raise ScheduleError(
            f"Cannot {what}: these are not consecutive loops of one perfect nest, outer to inner.",
            place_of(chain[0]),
            help="reorder them first so that each directly holds the next.",
        )
    for loop in found:
        if not is_affine_loop(loop.op) or spec_of(loop.op).trip_count() is None:
            raise ScheduleError(
                f"Cannot {what}: the bounds of loop {loop.name} are not constants.",
                place_of(loop.op),
                help="fuse loops whose bounds are numbers.",
            )
    name = "_".join(f.name for f in found) + "_fused"
    fuse_loops(chain, name)
    return LoopWrapper(found[0].func, found[0].band.name, name, s.module)


def fuse_loops(chain: list[ir.Operation], name: str) -> ir.Operation:
    """Rewrite a perfect chain of loops with constant bounds as one loop."""
    specs = [spec_of(op) for op in chain]
    trips = [spec.trip_count() or 0 for spec in specs]
    total = 1
    for count in trips:
        total *= count
    attributes: dict[str, ir.Attribute] = {"loop_name": ir.StringAttr.get(name)}
    if "op_name" in specs[0].attributes:
        attributes["op_name"] = specs[0].attributes["op_name"]
    if all("reduction" in spec.attributes for spec in specs):
        attributes["reduction"] = ir.UnitAttr.get()
    location = ir.Location.fused([op.location for op in chain])
    made = build_loop(
        LoopSpec(constant_map(0), constant_map(total), 1, attributes, location),
        ir.InsertionPoint(chain[0]),
    )
    move_body(chain[-1], made)
    iv = induction_variable(made)
    weight = total
    for op, spec, count in zip(chain, specs, trips, strict=True):
        weight //= max(1, count)
        expr: ir.AffineExpr = ir.AffineExpr.get_dim(0)
        if weight > 1:
            expr = ir.AffineExpr.get_floor_div(expr, weight)
        if op != chain[0]:
            expr = ir.AffineExpr.get_mod(expr, count)
        expr = ir.AffineExpr.get_mul(expr, ir.AffineExpr.get_constant(spec.step))
        low = spec.lower.constant() or 0
        expr = ir.AffineExpr.get_add(expr, ir.AffineExpr.get_constant(low))
        replace_index(induction_variable(op), BoundMap(ir.AffineMap.get(1, 0, [expr]), (iv,)))
    chain[0].erase()
    return made
