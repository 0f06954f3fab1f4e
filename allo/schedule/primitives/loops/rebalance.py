"""``rebalance``: chains of one associative operation become balanced trees."""

from __future__ import annotations

from allo.dialects._mlir import ir
from allo.dialects.affine.loops import (
    body_of,
    enclosing_loops,
    induction_variable,
    is_affine_loop,
    spec_of,
    walk,
)
from allo.dialects.affine.maps import BoundMap
from allo.dialects.affine.substitute import simplify
from allo.dialects.core.locations import place_of
from allo.dialects.diagnostics import ScheduleError
from allo.dialects.sums.chains import balance_chains
from allo.dialects.sums.reductions import find_reductions
from allo.schedule.analysis.partial import Partials, no_reduction
from allo.schedule.handles import Axis
from allo.schedule.primitive import primitive
from allo.schedule.resolve import FoundLoop, find_loop
from allo.schedule.state import ScheduleState

MOST_TERMS = 4096
"""No reduction of more iterations becomes a tree."""


@primitive
def rebalance(s: ScheduleState, axis: Axis) -> None:
    """Add up the iterations of an unrolled loop, and the chains in its body, as balanced trees.

    ::

                                       for k in range(4): x_terms[k] = a[k]          {unroll}
        for k in range(4):             x += (x_terms[0] + x_terms[1])
            x = x + a[k]      ──▶           + (x_terms[2] + x_terms[3])

        y = a + b + c + d     ──▶      y = (a + b) + (c + d)

    The reductions that the loop carries become trees where it is unrolled completely, by a mark of its
    own or because a loop around it is pipelined. A chain of four additions is then two operations deep,
    and the element is updated once. In a loop that stays, only the chains of its body change.

    Integer results stay as they are. Float sums and products are grouped in another way and round
    otherwise than before; every target gives the same bits.

    Raises:
        IllegalTransformError: the loop is unrolled, and holds neither a reduction nor a chain.
        ScheduleError: the loop stays and holds no chain, or has too many iterations for a tree.
    """
    loop = find_loop(s.module, s.top_func_name, axis, "rebalance")
    changed = balance_chains(walk(loop.op))
    if _is_unrolled(loop.op):
        _add_up(s, loop, required=not changed)
    elif not changed:
        raise ScheduleError(
            f"rebalance {loop.name}: the loop is not unrolled, and its body holds no chain of three "
            "or more operands that is not balanced already.",
            place_of(loop.op),
            help=f'call s.unroll("{loop.name}") first, or pipeline a loop around it; of a long loop, '
            "split off a part to unroll.",
        )


def _is_unrolled(loop: ir.Operation) -> bool:
    if "unroll" in loop.attributes:
        return bool(ir.IntegerAttr(loop.attributes["unroll"]).value == 0)
    return any("pipeline_ii" in outer.attributes for outer in enclosing_loops(loop))


def _add_up(s: ScheduleState, loop: FoundLoop, required: bool) -> None:
    place, what = place_of(loop.op), f"rebalance {loop.name}"
    found = find_reductions(s.module, loop.op)
    if not found.reductions:
        if required:
            raise no_reduction(found, loop.op, what, place)
        return
    spec = spec_of(loop.op) if is_affine_loop(loop.op) else None
    bounds = None if spec is None else spec.constant_bounds()
    extent = None if spec is None else spec.trip_count()
    if spec is None or bounds is None or extent is None or extent > MOST_TERMS:
        if not required:
            return
        have = "has no constant bounds" if extent is None else f"has {extent} iterations"
        raise ScheduleError(
            f"{what}: the loop {have}; a tree takes a constant number of terms up to {MOST_TERMS}.",
            place,
            help="split the loop, and rebalance the inner part.",
        )
    if extent < 2:
        return
    element = _number(loop.op, bounds[0], spec.step)
    operations = [o.operation for o in loop.op.block.operations]
    after = ir.InsertionPoint(operations[operations.index(loop.op) + 1])
    for reduction in found.reductions:
        terms = Partials(loop.function, loop.op, reduction, extent, "terms")
        if not terms.set_directly(loop.op, element):
            terms.fill([element], ir.InsertionPoint.at_block_begin(body_of(loop.op)))
            terms.take_updates(element)
        terms.add_up(after)


def _number(loop: ir.Operation, lower: int, step: int) -> BoundMap:
    """The number of an iteration, from 0."""
    expr = ir.AffineExpr.get_floor_div(ir.AffineExpr.get_dim(0) + -lower, step)
    made = ir.AffineMap.get(1, 0, [expr])
    return simplify(BoundMap(made, (induction_variable(loop),)))
