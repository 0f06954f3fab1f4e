"""``constant_multiply``: products by constants become adders that the sums of a nest share."""

from __future__ import annotations

from typing import Literal

from allo.dialects.core.locations import place_of
from allo.dialects.diagnostics import ScheduleError
from allo.dialects.sums.adders import DepthError
from allo.dialects.sums.digits import signed_digits
from allo.schedule.constants.emit import Emitter
from allo.schedule.constants.linear import Value
from allo.schedule.constants.trace import Trace
from allo.schedule.constants.unread import drop_unread
from allo.schedule.handles import Axis
from allo.schedule.primitive import check_integer, primitive
from allo.schedule.resolve import find_loop
from allo.schedule.state import ScheduleState

MOST_PAIRS = 3_000_000
"""Pairs of digits that the planner looks at; a 64 x 64 matrix of 6 bits has 600,000."""


@primitive
def constant_multiply(
    s: ScheduleState, axis: Axis, depth: int | Literal["least"] | None = None
) -> None:
    """Run a nest whole, and make its products by constants adders that all of its sums share.

    ::

        for j in range(2):
            y[j] = 0                               t = x[0] + (x[1] << 2)
            for i in range(3):              ──▶    y[0] = t + x[2]           W = [[1, 4, 1],
                y[j] += W[j, i] * x[i]             y[1] = (t << 1) - x[2]         [2, 8, -1]]

    The loop and all loops in it are unrolled completely, and what remains of products by constants are
    additions, subtractions and shifts of exact widths. Other integer arithmetic in the nest, such as a
    shift to the right or a minimum, stays as it is, between the sums before it and behind it. Every
    target gives the same results as before.

    Args:
        axis: the outermost loop of the nest; pipeline a loop around it.
        depth: the most additions that may follow each other between two other operations. Fewer shorten the
            latency, and may cost adders; ``"least"`` is as few as there can be, None sets no limit.

    Raises:
        ScheduleError: the nest has no constant weights, holds what cannot be unrolled or whose place is not
            known, is too large, or needs a greater depth.
    """
    loop = find_loop(s.module, s.top_func_name, axis, "constant_multiply")
    what, place = f"constant_multiply {loop.name}", place_of(loop.op)
    if depth is not None and depth != "least":
        check_integer(depth, 1, f"{what}: the depth", "leave it out for no limit.", place)
    trace, stores = Trace.of(s.module, loop.op, what)
    values = [store.value for store in stores]
    values += [value for word in trace.words for value in word.operands]
    _check_terms(trace, values, what)
    try:
        Emitter(trace, loop.op, depth).emit(stores)
    except DepthError as error:
        raise ScheduleError(
            f"{what}: a sum of this nest needs {error.least} additions one after the other, and "
            f"depth={depth} allows fewer.",
            place,
            help=f"give depth={error.least} or more, or leave it out.",
        ) from None
    loop.op.erase()
    drop_unread(s.module, loop.function)


def _check_terms(trace: Trace, values: list[Value], what: str) -> None:
    """Refuse a nest without weights, and one of too many."""
    counts = [sum(len(signed_digits(f)) for f in v.terms.values()) for v in values]
    if max(counts, default=0) < 2:
        raise _no_weights(trace, what)
    pairs = sum(count * count // 2 for count in counts)
    if pairs > MOST_PAIRS:
        terms = sum(len(value.terms) for value in values)
        raise ScheduleError(
            f"{what}: the nest adds up {terms:,} terms, whose digits make {pairs:,} pairs; "
            f"up to {MOST_PAIRS:,} are searched for what sums share.",
            place_of(trace.loop),
            help="split the loop over outputs, or the one over inputs, and name the inner part.",
        )


def _no_weights(trace: Trace, what: str) -> ScheduleError:
    if trace.float_product is not None:
        return ScheduleError(
            f"{what}: the products of this nest are of floats, whose sums depend on their order.",
            place_of(trace.float_product),
            help="declare the weights and the inputs as integers or fixed point, such as Fixed(8, 4).",
        )
    if trace.data_product is not None:
        return ScheduleError(
            f"{what}: neither factor of this product is known when the kernel is compiled.",
            place_of(trace.data_product),
            help="make the weights a constant array: W: int8[4, 8] = weights, with a NumPy array.",
        )
    return ScheduleError(
        f"{what}: this nest adds up no products by constants.",
        place_of(trace.loop),
        help="name the loop over the outputs of a product with a constant matrix.",
    )
