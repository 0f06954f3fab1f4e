"""``skew``: an inner loop runs ahead by a multiple of an outer one."""

from __future__ import annotations

from allo.dialects._mlir import ir
from allo.dialects.affine.loops import (
    LoopSpec,
    build_loop,
    enclosing_loops,
    induction_variable,
    is_affine_loop,
    move_body,
    spec_of,
)
from allo.dialects.affine.maps import BoundMap, identity_map
from allo.dialects.affine.substitute import replace_index, simplify
from allo.dialects.core.locations import place_of
from allo.dialects.diagnostics import ScheduleError
from allo.schedule.handles import Axis
from allo.schedule.primitive import check_integer, primitive
from allo.schedule.resolve import FoundLoop, find_loop
from allo.schedule.state import ScheduleState


@primitive
def skew(s: ScheduleState, outer: Axis, inner: Axis, factor: int = 1) -> None:
    """Make the inner loop run over ``inner + factor * outer``: its bounds shift, its subscripts shift back.

    ::

        s.skew("t", "i", 2)

        for t in range(T):                              for t in range(T):
            for i in range(1, N):                           for i in range(2 * t + 1, 2 * t + N):
                A[i] = A[i - 1] + A[i + 1]      ──▶             A[i - 2 * t] = A[i - 2 * t - 1] + …

    The order of iterations stays, so it is always legal. Iterations that depend on one another now
    differ by more of the inner loop, so that ``reorder`` of the two becomes legal for a wavefront.

    Raises:
        ScheduleError: ``inner`` does not stand inside ``outer``, a bound is not affine, or the
            factor is below 1.
    """
    around = find_loop(s.module, s.top_func_name, outer, "skew")
    loop = find_loop(s.module, s.top_func_name, inner, "skew")
    factor = check_integer(
        factor,
        1,
        f"skew {loop.name}: the factor",
        "give the number of iterations by which the inner loop runs ahead.",
        place_of(loop.op),
    )
    _check_nest(around, loop)
    skew_loop(around.op, loop.op, factor)


def _check_nest(around: FoundLoop, loop: FoundLoop) -> None:
    if around.op not in enclosing_loops(loop.op):
        raise ScheduleError(
            f"skew {loop.name}: it does not stand inside loop {around.name}.",
            place_of(loop.op),
            help='name the outer loop first: s.skew("i", "j").',
        )
    for each in (around, loop):
        if not is_affine_loop(each.op):
            raise ScheduleError(
                f"skew {loop.name}: the bounds of loop {each.name} are not affine.",
                place_of(each.op),
                help="only loops whose bounds are constants or affine in outer loops can be skewed.",
            )


def skew_loop(around: ir.Operation, op: ir.Operation, factor: int) -> ir.Operation:
    """Rewrite a loop as one that runs ahead by ``factor`` for each iteration of a loop around it."""
    spec = spec_of(op)
    outer = induction_variable(around)
    lower, upper = (_shifted(bound, outer, factor) for bound in (spec.lower, spec.upper))
    made = build_loop(
        LoopSpec(lower, upper, spec.step, spec.attributes, spec.location), ir.InsertionPoint(op)
    )
    move_body(op, made)
    back = _shifted(identity_map([induction_variable(made)]), outer, -factor)
    replace_index(induction_variable(op), back)
    op.erase()
    return made


def _shifted(bound: BoundMap, outer: ir.Value, factor: int) -> BoundMap:
    """Every result of a map plus ``factor * outer``."""
    count = bound.map.n_dims
    term = ir.AffineExpr.get_mul(ir.AffineExpr.get_dim(count), ir.AffineExpr.get_constant(factor))
    results = [ir.AffineExpr.get_add(expr, term) for expr in bound.map.results]
    made = ir.AffineMap.get(count + 1, bound.map.n_symbols, results)
    return simplify(BoundMap(made, (*bound.dims, outer, *bound.symbols)))
