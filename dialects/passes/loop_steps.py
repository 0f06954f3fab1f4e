"""Loops whose step only the run decides, or whose last step leaves the range of an index.

Where the step ``s`` of an ``scf.for`` is not positive when it starts, the loop has no iteration
(:func:`positive_steps`). A target that adds the step to the iterator and compares the sum never ends where
that sum passes 2^63. Such a loop counts its iterations (:func:`counted_steps`): ``for i = a to b step s``
becomes ``for n = 0 to trips step 1`` with ``i = a + n * s``.
"""

from __future__ import annotations

from .._mlir import arith, ir
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
def constant_steps(module: ir.Module) -> None:
    """Give every ``scf.for`` a constant step, in place."""
    with module.context, ir.Location.unknown():
        loops = [op for op in walk(module.operation) if op.name == "scf.for"]
        for loop in loops:
            if not _is_constant(loop.operands[2]):
                _divide(loop)


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
    """The same for an ``affine.for``: of those, only one of constant bounds may (``docs/core_ir.md``)."""
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


def _where_positive(loop: ir.Operation, then: ir.Value, other: ir.Value) -> ir.Value:
    """``then`` where the step is positive, else ``other``; made before the loop."""
    before = ir.InsertionPoint(loop)
    greater = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), arith.CmpIPredicate.sgt)
    bit = ir.Operation.create(
        "arith.cmpi",
        [ir.IntegerType.get_signless(1)],
        [loop.operands[2], _made(0, loop, before)],
        {"predicate": greater},
        loc=loop.location,
        ip=before,
    ).result
    return ir.Operation.create(
        "arith.select", [then.type], [bit, then, other], loc=loop.location, ip=before
    ).result


def _divide(loop: ir.Operation) -> None:
    lower, upper, step = loop.operands[:3]
    before = ir.InsertionPoint(loop)
    zero, one = (_made(n, loop, before) for n in (0, 1))
    span = _binary("arith.subi", upper, lower, loop, before)
    rest = _binary("arith.subi", step, one, loop, before)
    trips = _binary(
        "arith.divsi", _binary("arith.addi", span, rest, loop, before), step, loop, before
    )
    block = loop.regions[0].blocks[0]
    counter = block.arguments[0]
    head = ir.InsertionPoint.at_block_begin(block)
    distance = _binary("arith.muli", counter, step, loop, head)
    place = _binary("arith.addi", lower, distance, loop, head)
    counter.replace_all_uses_except(place, distance.owner.operation)
    trips = _where_positive(loop, trips, zero)
    for position, value in enumerate((zero, trips, one)):
        loop.operands[position] = value


def _made(number: int, loop: ir.Operation, ip: ir.InsertionPoint) -> ir.Value:
    index = ir.IndexType.get()
    attributes = {"value": ir.IntegerAttr.get(index, number)}
    return ir.Operation.create(
        "arith.constant", [index], attributes=attributes, loc=loop.location, ip=ip
    ).result


def _binary(
    name: str, left: ir.Value, right: ir.Value, loop: ir.Operation, ip: ir.InsertionPoint
) -> ir.Value:
    return ir.Operation.create(name, [left.type], [left, right], loc=loop.location, ip=ip).result
