"""``rebalance``: chains of one associative operation become balanced trees."""

from __future__ import annotations

from allo.dialects.affine.loops import is_loop, walk
from allo.dialects.core.locations import place_of
from allo.dialects.diagnostics import ScheduleError
from allo.dialects.sums.chains import balance_chains
from allo.dialects.sums.factors import group_factors
from allo.dialects.sums.reductions import find_reductions
from allo.schedule.analysis.partial import no_reduction
from allo.schedule.handles import Axis
from allo.schedule.primitive import primitive
from allo.schedule.reassociate import MOST_TERMS, add_up_iterations, extent_of, is_unrolled
from allo.schedule.resolve import FoundLoop, find_loop
from allo.schedule.state import ScheduleState


@primitive
def rebalance(s: ScheduleState, axis: Axis) -> None:
    """Add up the iterations of an unrolled loop, and the chains in its body, as balanced trees.

    ::

                                       for k in range(4): x_terms[k] = a[k]          {unroll}
        for k in range(4):             x += (x_terms[0] + x_terms[1])
            x = x + a[k]      ──▶           + (x_terms[2] + x_terms[3])

        y = a + b + c + d     ──▶      y = (a + b) + (c + d)

        y += a[k] * b * c     ──▶      y += (b * c) * a[k]

    The reductions that the loop carries become trees where it is unrolled completely, by a mark of its
    own or because a loop around it is pipelined. A chain of four additions is then two operations deep,
    and the element is updated once. In a loop that stays, only the chains of its body change. Factors that
    the loop does not change are multiplied first, so that iterations side by side have one product of them.

    Integer results stay as they are. Float sums and products are grouped in another way and round
    otherwise than before; every target gives the same bits.

    Raises:
        IllegalTransformError: the loop is unrolled, and holds neither a reduction nor a chain.
        ScheduleError: the loop stays and holds no chain, or has too many iterations for a tree.
    """
    loop = find_loop(s.module, s.top_func_name, axis, "rebalance")
    changed = balance_chains(walk(loop.op))
    if is_loop(loop.op):
        changed += group_factors(walk(loop.op), loop.op)
    if is_unrolled(loop.op):
        _add_up(s, loop, required=not changed)
    elif not changed:
        raise ScheduleError(
            f"rebalance {loop.name}: the loop is not unrolled, and its body holds no chain of three "
            "or more operands that is not balanced already.",
            place_of(loop.op),
            help=f'call s.unroll("{loop.name}") first, or pipeline a loop around it; of a long loop, '
            "split off a part to unroll.",
        )


def _add_up(s: ScheduleState, loop: FoundLoop, required: bool) -> None:
    place, what = place_of(loop.op), f"rebalance {loop.name}"
    found = find_reductions(s.module, loop.op)
    if not found.reductions:
        if required:
            raise no_reduction(found, loop.op, what, place)
        return
    extent = extent_of(loop.op)
    if extent is not None and extent <= MOST_TERMS:
        add_up_iterations(loop.function, loop.op, found.reductions)
    elif required:
        have = "has bounds that only a run knows" if extent is None else f"has {extent} iterations"
        raise ScheduleError(
            f"{what}: the loop {have}; a tree takes a constant number of terms up to {MOST_TERMS}.",
            place,
            help="split the loop, and rebalance the inner part.",
        )
