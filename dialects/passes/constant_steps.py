"""Loops whose step only the run decides count iterations instead.

Assumes core IR; leaves no ``scf.for`` whose step is not a constant. ``for i = a to b step s`` becomes
``for n = 0 to (b - a + s - 1) / s step 1`` with ``i = a + n * s`` at the head of its body, and no
iteration where ``s`` is not positive. :func:`positive_steps` gives loops the latter alone.
"""

from __future__ import annotations

from .._mlir import arith, ir
from ..affine.loops import walk
from ..checked import module_pass


@module_pass
def constant_steps(module: ir.Module) -> None:
    """Give every ``scf.for`` a constant step, in place."""
    with module.context, ir.Location.unknown():
        loops = [op for op in walk(module.operation) if op.name == "scf.for"]
        for loop in loops:
            if not _is_constant(loop.operands[2]):
                _count(loop)


@module_pass
def positive_steps(module: ir.Module) -> None:
    """Give every ``scf.for`` whose step is not positive when it starts no iteration, in place."""
    with module.context, ir.Location.unknown():
        for loop in [op for op in walk(module.operation) if op.name == "scf.for"]:
            if not _is_constant(loop.operands[2]):
                lower, upper = loop.operands[:2]
                loop.operands[1] = _where_positive(loop, upper, lower)


def _where_positive(loop: ir.Operation, then: ir.Value, other: ir.Value) -> ir.Value:
    """``then`` where the step is positive, else ``other``; made before the loop."""
    before = ir.InsertionPoint(loop)
    greater = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), arith.CmpIPredicate.sgt)
    bit = ir.Operation.create(
        "arith.cmpi",
        [ir.IntegerType.get_signless(1)],
        [loop.operands[2], _constant(0, loop, before)],
        {"predicate": greater},
        loc=loop.location,
        ip=before,
    ).result
    return ir.Operation.create(
        "arith.select", [then.type], [bit, then, other], loc=loop.location, ip=before
    ).result


def _is_constant(value: ir.Value) -> bool:
    return isinstance(value, ir.OpResult) and value.owner.operation.name == "arith.constant"


def _count(loop: ir.Operation) -> None:
    lower, upper, step = loop.operands[:3]
    before = ir.InsertionPoint(loop)
    zero, one = (_constant(n, loop, before) for n in (0, 1))
    span = _index("arith.subi", upper, lower, loop, before)
    rest = _index("arith.subi", step, one, loop, before)
    trips = _index(
        "arith.divsi", _index("arith.addi", span, rest, loop, before), step, loop, before
    )
    block = loop.regions[0].blocks[0]
    counter = block.arguments[0]
    head = ir.InsertionPoint.at_block_begin(block)
    distance = _index("arith.muli", counter, step, loop, head)
    place = _index("arith.addi", lower, distance, loop, head)
    counter.replace_all_uses_except(place, distance.owner.operation)
    trips = _where_positive(loop, trips, zero)
    for position, value in enumerate((zero, trips, one)):
        loop.operands[position] = value


def _constant(number: int, loop: ir.Operation, ip: ir.InsertionPoint) -> ir.Value:
    index = ir.IndexType.get()
    attributes = {"value": ir.IntegerAttr.get(index, number)}
    return ir.Operation.create(
        "arith.constant", [index], attributes=attributes, loc=loop.location, ip=ip
    ).result


def _index(
    name: str, left: ir.Value, right: ir.Value, loop: ir.Operation, ip: ir.InsertionPoint
) -> ir.Value:
    return ir.Operation.create(name, [left.type], [left, right], loc=loop.location, ip=ip).result
