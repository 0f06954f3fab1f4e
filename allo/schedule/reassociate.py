"""Float sums and products as balanced trees, as a build asks for it; and the iterations of one loop."""

from __future__ import annotations

from collections.abc import Sequence

from allo.dialects._mlir import ir
from allo.dialects.affine.associative import FLOATS
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
from allo.dialects.core.parse import parse_module
from allo.dialects.core.signature import functions_of
from allo.dialects.sums.chains import balance_chains
from allo.dialects.sums.reductions import Reduction, find_reductions

from .analysis.partial import Partials

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
    """The iterations of a loop with constant bounds, else None."""
    spec = spec_of(loop) if is_affine_loop(loop) else None
    return None if spec is None or spec.constant_bounds() is None else spec.trip_count()


def add_up_iterations(
    function: ir.Operation, loop: ir.Operation, reductions: Sequence[Reduction]
) -> None:
    """Let a loop of constant bounds fill an array of terms for each reduction, and a tree add them up."""
    spec = spec_of(loop)
    bounds, extent = spec.constant_bounds(), spec.trip_count()
    if bounds is None or extent is None or extent < 2:
        return
    element = _number(loop, bounds[0], spec.step)
    operations = [o.operation for o in loop.block.operations]
    after = ir.InsertionPoint(operations[operations.index(loop) + 1])
    for reduction in reductions:
        terms = Partials(function, loop, reduction, extent, "terms")
        if not terms.set_directly(loop, element):
            terms.fill([element], ir.InsertionPoint.at_block_begin(body_of(loop)))
            terms.take_updates(element)
        terms.add_up(after)


def _number(loop: ir.Operation, lower: int, step: int) -> BoundMap:
    """The number of an iteration, from 0."""
    expr = ir.AffineExpr.get_floor_div(ir.AffineExpr.get_dim(0) + -lower, step)
    made = ir.AffineMap.get(1, 0, [expr])
    return simplify(BoundMap(made, (induction_variable(loop),)))
