"""Loops whose step only the run decides, or whose last step leaves the range of an index.

Where the step ``s`` of an ``scf.for`` is not positive when it starts, the loop has no iteration
(:func:`positive_steps`). A target that adds the step to the iterator and compares the sum never ends where
that sum passes 2^63. Such a loop counts its iterations (:func:`counted_steps`): ``for i = a to b step s``
becomes ``for n = 0 to trips step 1`` with ``i = a + n * s``.
"""

from __future__ import annotations

from .._mlir import ir
from ..affine.loops import (
    LOOP_NAMES,
    LoopSpec,
    body_of,
    build_loop,
    induction_variable,
    is_affine_loop,
    move_body,
    spec_of,
    walk,
)
from ..affine.maps import constant_map, identity_map
from ..affine.substitute import replace_index
from ..checked import module_pass
from ..ranges.interval import INDEX_BITS, INDEX_RANGE, Interval
from ..ranges.values import interval_of
from .math.bits import Bits, Emitter


@module_pass
def positive_steps(module: ir.Module) -> None:
    """Give every ``scf.for`` whose step is not positive when it starts no iteration, in place."""
    with module.context, ir.Location.unknown():
        for loop in [op for op in walk(module.operation) if op.name == "scf.for"]:
            if not _is_constant(loop.operands[2]):
                lower, upper, step = loop.operands[:3]
                positive = _number(Emitter(loop), step).is_("sgt", 0)
                loop.operands[1] = positive.emitter.make(
                    "arith.select", upper.type, [positive.value, upper, lower]
                )


@module_pass
def counted_steps(module: ir.Module) -> None:
    """Let loops whose last step may pass the range of an index count their iterations, in place."""
    with module.context, ir.Location.unknown():
        for loop in [op for op in walk(module.operation) if op.name in LOOP_NAMES]:
            if is_affine_loop(loop):
                _count_affine(loop)
            elif _passes(*(interval_of(v, loop) for v in list(loop.operands)[1:3])):
                _count(loop)


def _is_constant(value: ir.Value) -> bool:
    return isinstance(value, ir.OpResult) and value.owner.operation.name == "arith.constant"


def _passes(upper: Interval | None, step: Interval | None) -> bool:
    """Whether the value behind the last of a loop may be no index."""
    high, most = ((found or INDEX_RANGE)[1] for found in (upper, step))
    return most > 1 and high - 1 + most > INDEX_RANGE[1]


def _count_affine(loop: ir.Operation) -> None:
    """The same for an ``affine.for``: only one of constant bounds may (``docs/internals/core_ir.md``)."""
    spec = spec_of(loop)
    bounds, trips = spec.constant_bounds(), spec.trip_count()
    if bounds is None or trips is None or bounds[0] + trips * spec.step <= INDEX_RANGE[1]:
        return
    made = build_loop(
        LoopSpec(constant_map(0), constant_map(trips), 1, spec.attributes, spec.location),
        ir.InsertionPoint(loop),
    )
    move_body(loop, made)
    step, low = (ir.AffineExpr.get_constant(n) for n in (spec.step, bounds[0]))
    counter = identity_map([induction_variable(made)])
    distance = ir.AffineExpr.get_mul(counter.results[0], step)
    replace_index(induction_variable(loop), counter.alone(ir.AffineExpr.get_add(distance, low)))
    loop.erase()


def _count(loop: ir.Operation) -> None:
    """Count the iterations of an ``scf.for`` by an unsigned difference, which holds every distance."""
    before = Emitter(loop)
    lower, upper, step = (_number(before, v) for v in list(loop.operands)[:3])
    trips = (upper - lower - 1).divu(step) + 1
    runs = lower.is_("slt", upper) & step.is_("sgt", 0)
    trips = before.select(runs, trips, before.constant(0, INDEX_BITS))
    block = body_of(loop)
    counter = block.arguments[0]
    head = Emitter(block.operations[0].operation)
    number = _number(head, counter)
    place = _index(
        Bits(head, lower.value, INDEX_BITS) + number * Bits(head, step.value, INDEX_BITS)
    )
    counter.replace_all_uses_except(place, number.value.owner.operation)
    zero, one = (_index(before.constant(n, INDEX_BITS)) for n in (0, 1))
    for position, value in enumerate((zero, _index(trips), one)):
        loop.operands[position] = value


def _number(emitter: Emitter, value: ir.Value) -> Bits:
    """An index as an integer of its bits."""
    kind = emitter.integer(INDEX_BITS)
    return Bits(emitter, emitter.make("arith.index_cast", kind, [value]), INDEX_BITS)


def _index(bits: Bits) -> ir.Value:
    return bits.emitter.make("arith.index_cast", ir.IndexType.get(), [bits.value])
