"""Does an array hold a known constant where a region first reads it?"""

from __future__ import annotations

from collections.abc import Sequence

import islpy as isl

from allo.dialects._mlir import ir
from allo.dialects.affine.loops import enclosing_loops, is_affine_loop, spec_of, walk
from allo.dialects.affine.ranges import expression_text
from allo.dialects.effects import EffectAnalysis

from .buffers import Part
from .resolve import FoundBuffer


def initial_constant(
    module: ir.Module,
    buffer: FoundBuffer,
    axis: ir.Operation,
    parts: Sequence[Part],
    box: Sequence[tuple[int, int, int]],
) -> ir.Attribute | None:
    """The constant the array's box holds whenever an iteration of ``axis`` begins, or None.

    It is known when the array is a local one filled with a constant before the nest, nothing else
    writes it before or elsewhere in the nest, and two iterations never meet in one box.

    Args:
        box: (dimension, lowest inner part, extent) of the elements an iteration owns.
    """
    if isinstance(buffer.value, ir.BlockArgument):
        return None
    if buffer.value.owner.operation.name != "memref.alloc":
        return None
    around = enclosing_loops(axis)
    nest = [*around, axis]
    top = nest[0]
    constant = _fill_before(module, buffer, top)
    if constant is None or _written_outside(module, buffer, top, axis):
        return None
    return constant if _disjoint(nest, parts, box) else None


def _fill_before(module: ir.Module, buffer: FoundBuffer, top: ir.Operation) -> ir.Attribute | None:
    effects = EffectAnalysis(module.operation)
    key = effects.memory_of(buffer.value).key
    alloc = buffer.value.owner.operation
    if alloc.block != top.block:
        return None
    constant: ir.Attribute | None = None
    for child in top.block.operations:
        op = child.operation
        if op == top:
            return constant
        for inner in (op, *walk(op)):
            if any(e.writes and e.memory.key == key for e in effects.effects_of(inner)):
                constant = _fill_value(inner) if inner == op else None
    return None


def _fill_value(op: ir.Operation) -> ir.Attribute | None:
    if op.name != "linalg.fill" or isinstance(op.operands[0], ir.BlockArgument):
        return None
    source = op.operands[0].owner.operation
    return source.attributes["value"] if source.name == "arith.constant" else None


def _written_outside(
    module: ir.Module, buffer: FoundBuffer, top: ir.Operation, axis: ir.Operation
) -> bool:
    effects = EffectAnalysis(module.operation)
    key = effects.memory_of(buffer.value).key
    inside = list(walk(axis))
    return any(
        e.writes and e.memory.key == key
        for op in walk(top)
        if op not in inside
        for e in effects.effects_of(op)
    )


def _disjoint(
    nest: Sequence[ir.Operation], parts: Sequence[Part], box: Sequence[tuple[int, int, int]]
) -> bool:
    if not all(is_affine_loop(op) for op in nest):
        return False
    names = {op.regions[0].blocks[0].arguments[0]: f"i{k}" for k, op in enumerate(nest)}
    used = [v for p in parts for v in p.outer.operands]
    bounds = [spec_of(op) for op in nest]
    used += [v for b in bounds for v in (*b.lower.operands, *b.upper.operands)]
    if any(v not in names for v in used):
        return False
    rows = []
    for spec, name in zip(bounds, names.values(), strict=True):
        rows += [
            f"{name} >= {expression_text(e, spec.lower, names)}" for e in spec.lower.map.results
        ]
        rows += [
            f"{name} < {expression_text(e, spec.upper, names)}" for e in spec.upper.map.results
        ]
    boxes = {position: (low, extent) for position, low, extent in box}
    targets = []
    for position, part in enumerate(parts):
        outer = expression_text(part.outer.map.results[0], part.outer, names)
        low, extent = boxes.get(position, (0, 1))
        targets.append(f"e{position}")
        rows.append(f"{outer} + {low} <= e{position} < {outer} + {low + extent}")
    inputs = ", ".join(names.values())
    touch = isl.Map(f"{{ [{inputs}] -> [{', '.join(targets)}] : {' and '.join(rows)} }}")
    return bool(touch.is_injective())
