"""Float sums and products as balanced trees, as a build asks for it; and the iterations of one loop."""

from __future__ import annotations

from collections.abc import Sequence

from allo.dialects._mlir import ir
from allo.dialects.affine.associative import FLOATS
from allo.dialects.affine.loops import (
    LoopSpec,
    body_of,
    build_loop,
    enclosing_loops,
    induction_variable,
    is_affine_loop,
    join_bounds,
    move_body,
    spec_of,
    terminator,
    walk,
)
from allo.dialects.affine.maps import BoundMap, constant_map, identity_map
from allo.dialects.affine.substitute import simplify
from allo.dialects.core.parse import parse_module
from allo.dialects.core.signature import functions_of
from allo.dialects.sums.chains import balance_chains
from allo.dialects.sums.reductions import Reduction, find_reductions

from .analysis.buffers import guard_body, make_guard
from .analysis.partial import Partials
from .analysis.rebound import range_of

MOST_TERMS = 4096
"""No reduction of more iterations becomes a tree."""


def reassociated(text: str) -> str:
    """Core IR whose chains of float operations are balanced trees, and reductions of unrolled loops too.

    What ``rebalance`` does to a loop is done to all of them. Operations on integers stay.
    """
    module = parse_module(text)
    with module.context, module.operation.location:
        for function in functions_of(module).values():
            balance_chains(walk(function), FLOATS)
            loops = [op for op in walk(function) if is_affine_loop(op) and is_unrolled(op)]
            for loop in reversed(loops):
                _add_up(module, function, loop)
        return str(module.operation.get_asm(enable_debug_info=True))


def _add_up(module: ir.Module, function: ir.Operation, loop: ir.Operation) -> None:
    extent = extent_of(loop)
    if extent is None or extent > MOST_TERMS:
        return
    found = find_reductions(module, loop).reductions
    add_up_iterations(function, loop, [r for r in found if r.family in FLOATS])


def is_unrolled(loop: ir.Operation) -> bool:
    """Whether every iteration of a loop is a copy: by its mark, or because a loop around is pipelined."""
    if "unroll" in loop.attributes:
        return bool(ir.IntegerAttr(loop.attributes["unroll"]).value == 0)
    return any("pipeline_ii" in outer.attributes for outer in enclosing_loops(loop))


def extent_of(loop: ir.Operation) -> int | None:
    """The values that a loop's index takes; None where they are not known."""
    bounds, step = _values(loop) or (None, 1)
    return None if bounds is None else -(-(bounds[1] - bounds[0]) // step)


def _values(loop: ir.Operation) -> tuple[tuple[int, int], int] | None:
    """What constants a loop's index lies between in all iterations of the loops around it, and its step."""
    if not is_affine_loop(loop):
        return None
    spec = spec_of(loop)
    bounds = spec.constant_bounds() or range_of(loop, empty=True)
    return None if bounds is None else (bounds, spec.step)


def add_up_iterations(
    function: ir.Operation, loop: ir.Operation, reductions: Sequence[Reduction]
) -> None:
    """Let a loop fill an array of terms for each reduction, and a tree add them up.

    Terms of iterations that a loop of variable bounds leaves out change nothing. Where it runs no iteration,
    the element is not touched.
    """
    values, extent = _values(loop), extent_of(loop)
    if not reductions or values is None or extent is None or extent < 2:
        return
    bounds, step = values
    always = spec_of(loop).constant_bounds() is not None
    element = _number(loop, bounds[0], step)
    after = ir.InsertionPoint.after(loop)
    if not always and range_of(loop) is None:
        guard = make_guard(_runs(loop), loop.location, after)
        after = ir.InsertionPoint(terminator(guard.regions[0].blocks[0]))
    for reduction in reductions:
        terms = Partials(function, loop, reduction, extent, "terms")
        if not always:
            terms.fill_all(ir.InsertionPoint(loop))
        if not terms.set_directly(loop, element):
            terms.fill([element], ir.InsertionPoint.at_block_begin(body_of(loop)))
            terms.take_updates(element)
        terms.add_up(after)
    if not always:
        _fix_bounds(loop, bounds)


def _runs(loop: ir.Operation) -> list[BoundMap]:
    """What is not negative where a loop runs an iteration: the room between each two of its bounds."""
    spec = spec_of(loop)
    joined = join_bounds(spec.lower, spec.upper)
    lower = joined.results[: len(spec.lower.results)]
    upper = joined.results[len(spec.lower.results) :]
    return [simplify(joined.alone(high + low * -1 + -1)) for low in lower for high in upper]


def _fix_bounds(loop: ir.Operation, bounds: tuple[int, int]) -> None:
    """Let a loop run between constants, and its body where its own bounds hold."""
    spec, (low, high) = spec_of(loop), bounds
    fixed = LoopSpec(
        constant_map(low), constant_map(high), spec.step, spec.attributes, spec.location
    )
    made = build_loop(fixed, ir.InsertionPoint(loop))
    index = induction_variable(made)
    move_body(loop, made)
    induction_variable(loop).replace_all_uses_with(index)
    rows = []
    for bound, sign, less in ((spec.lower, -1, 0), (spec.upper, 1, 1)):
        joined = join_bounds(bound, identity_map([index]))
        *limits, at = joined.results
        rows += [joined.alone((limit + at * -1) * sign + -less) for limit in limits]
    guard_body(made, [simplify(row) for row in rows])
    loop.erase()


def _number(loop: ir.Operation, lower: int, step: int) -> BoundMap:
    """The number of an iteration, from 0."""
    expr = ir.AffineExpr.get_floor_div(ir.AffineExpr.get_dim(0) + -lower, step)
    made = ir.AffineMap.get(1, 0, [expr])
    return simplify(BoundMap(made, (induction_variable(loop),)))
