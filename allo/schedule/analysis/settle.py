"""Make the two ends of an array touch each element once, where that changes no answer."""

from __future__ import annotations

from dataclasses import dataclass

from allo.dialects._mlir import ir
from allo.dialects.affine.dependence import passes_values
from allo.dialects.affine.loops import (
    induction_variable,
    is_affine_loop,
    is_defined_inside,
    parent_of,
    spec_of,
    walk,
)
from allo.dialects.affine.maps import bound_map
from allo.dialects.affine.model import Model
from allo.dialects.core.effects import EffectAnalysis
from allo.dialects.core.signature import callee_of, functions_of


@dataclass(frozen=True, slots=True)
class End:
    """Where one end touches an array: the operations to look at and the array's value there."""

    roots: tuple[ir.Operation, ...]
    value: ir.Value


def end_of(module: ir.Module, op: ir.Operation, value: ir.Value) -> End:
    """The end that ``op`` is: a nest itself, or the body of the function it calls."""
    if op.name != "func.call":
        return End((op,), value)
    callee = functions_of(module)[callee_of(op)]
    block = callee.regions[0].blocks[0]
    operations = [o.operation for o in block.operations]
    passed = list(op.operands)
    if value in passed:
        inner: ir.Value = block.arguments[passed.index(value)]
    else:
        inner = operations[-1].operands[list(op.results).index(value)]
    return End(tuple(operations[:-1]), inner)


def drop_initial_fill(module: ir.Module, fill: ir.Operation, producer: End) -> bool:
    """Let the producer use the constant an array was filled with, and drop the fill.

    It applies where the producer reads the array only as the fill left it and writes all of it.
    """
    source = fill.operands[0]
    if isinstance(source, ir.BlockArgument) or source.owner.operation.name != "arith.constant":
        return False
    constant = source.owner.operation.attributes["value"]
    effects = EffectAnalysis(module.operation)
    key = effects.memory_of(producer.value).key
    model = Model(producer.roots, effects)
    memory = model.memory_label(key)
    if memory is None or passes_values(model, memory) or not model.writes_all(memory):
        return False
    for root in producer.roots:
        for op in [root, *walk(root)]:
            if op.name == "affine.load" and effects.memory_of(op.operands[0]).key == key:
                _become_constant(op, constant)
    fill.erase()
    return True


def drop_own_fill(module: ir.Module, producer: End) -> None:
    """Drop the fill of a function that fills the array and then writes all of it."""
    effects = EffectAnalysis(module.operation)
    key = effects.memory_of(producer.value).key
    for position, root in enumerate(producer.roots):
        if not any(effects.effects_on(op, key) for op in (root, *walk(root))):
            continue
        if root.name == "linalg.fill":
            rest = End(producer.roots[position + 1 :], producer.value)
            drop_initial_fill(module, root, rest)
        return


def _become_constant(load: ir.Operation, constant: ir.Attribute) -> None:
    made = ir.Operation.create(
        "arith.constant",
        results=[load.result.type],
        attributes={"value": constant},
        loc=load.location,
        ip=ir.InsertionPoint(load),
    )
    load.result.replace_all_uses_with(made.result)
    load.erase()


def hoist_reads(module: ir.Module, consumer: End) -> None:
    """Move each read of the array out of the loops it does not depend on.

    The consumer does not write the array, so a read is the same in every iteration of such a loop.
    """
    effects = EffectAnalysis(module.operation)
    key = effects.memory_of(consumer.value).key
    operations = [op for root in consumer.roots for op in (root, *walk(root))]
    touching = [op for op in operations if effects.effects_on(op, key)]
    if any(op.name != "affine.load" for op in touching):
        return
    for op in touching:
        while (loop := parent_of(op)) is not None and _is_invariant(op, loop):
            op.move_before(loop)


def _is_invariant(load: ir.Operation, loop: ir.Operation) -> bool:
    if not is_affine_loop(loop) or not spec_of(loop).trip_count():
        return False
    used = bound_map(load).operands
    return induction_variable(loop) not in used and not any(
        is_defined_inside(v, loop) for v in used
    )
