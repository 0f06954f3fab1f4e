"""What is left of a row behind the last whole group of vectors becomes a loop of its own.

::

    for k in range(38):     →       for k in range(32):
                                    for k in range(32, 38):

LLVM works on a row in groups of four vectors, and on what is left element by element: in a row of
38 that takes as long as the vectors do. Of the short loop alone it makes vectors too. Where each step
is independent of the others, and the order stays as it was, no result can change.
"""

from __future__ import annotations

from allo.dialects._mlir import ir
from allo.dialects.affine.loops import body_operations, is_affine_loop, spec_of
from allo.dialects.core.effects import EffectAnalysis

from .accesses import Body, read_body

VECTOR_BYTES = 32
VECTORS = 4
LEAST_TAIL = 4
MOST_GROUPS = 16
"""In a longer row the tail does not show."""
MOST_OPERATIONS = 64


def divide_rows(loop: ir.Operation, memory: EffectAnalysis) -> None:
    """Give the innermost loops of a nest tails of their own where that pays, in place."""
    if _runs_seldom(loop):
        return
    operations = body_operations(loop)
    inner = [op for op in operations if is_affine_loop(op)]
    for op in inner:
        divide_rows(op, memory)
    if inner or not 1 < len(operations) <= MOST_OPERATIONS:
        return
    spec = spec_of(loop)
    bounds = spec.constant_bounds()
    if bounds is None or spec.step != 1:
        return
    body = read_body(loop, memory)
    group = _group(body) if body is not None else 0
    if not group or body is None:
        return
    low, high = bounds
    tail = (high - low) % group
    if tail < LEAST_TAIL or not group < high - low <= group * MOST_GROUPS:
        return
    if any(access.is_strided(body.index) for access in body.accesses) or not body.is_independent():
        return
    _divide(loop, high - tail)


def _runs_seldom(loop: ir.Operation) -> bool:
    """Whether a loop is what is left behind the last whole group of steps of another."""
    spec = spec_of(loop)
    trips = spec.trip_count()
    return len(spec.lower.results) > 1 or (trips is not None and trips < LEAST_TAIL)


def _group(body: Body) -> int:
    """How many elements LLVM takes at once; 0 where it will not."""
    sizes = {access.element_bytes for access in body.accesses}
    if not any(access.writes for access in body.accesses) or not sizes <= {4, 8}:
        return 0
    return VECTORS * VECTOR_BYTES // max(sizes)


def _divide(loop: ir.Operation, at: int) -> None:
    tail = loop.clone(ir.InsertionPoint(loop)).operation
    loop.move_before(tail)
    border = ir.AffineMapAttr.get(ir.AffineMap.get_constant(at))
    loop.attributes["upperBoundMap"] = border
    tail.attributes["lowerBoundMap"] = border
