"""Does an array hold a known constant where a region first reads it?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from allo.dialects._mlir import ir
from allo.dialects.affine.isl import isl
from allo.dialects.affine.loops import (
    enclosing_loops,
    is_affine_loop,
    parent_of,
    spec_of,
    walk,
)
from allo.dialects.affine.maps import bound_map
from allo.dialects.core.effects import EffectAnalysis
from allo.dialects.ranges.indices import Unknown, expression_text

from ..resolve import FoundBuffer
from .buffers import Part


@dataclass(frozen=True, slots=True)
class Initial:
    """A constant an array's box holds whenever a region begins.

    Attributes:
        constant: the value.
        fill: the ``linalg.fill`` that set it, when the region makes it superfluous.
    """

    constant: ir.Attribute
    fill: ir.Operation | None


def initial_constant(
    module: ir.Module,
    buffer: FoundBuffer,
    axis: ir.Operation,
    parts: Sequence[Part],
    box: Sequence[tuple[int, int, int]],
) -> Initial | None:
    """The constant the array's box holds whenever an iteration of ``axis`` begins, or None.

    It is known when the array is a local one filled with a constant before the nest, nothing else
    writes it before or elsewhere in the nest, and two iterations never meet in one box. The fill
    itself is superfluous when nothing reads the array outside ``axis`` before the nest ends and
    the boxes cover it.

    Args:
        box: (dimension, lowest inner part, extent) of the elements an iteration owns.
    """
    if isinstance(buffer.value, ir.BlockArgument):
        return None
    if buffer.value.owner.operation.name != "memref.alloc" or not buffer.type.has_static_shape:
        return None
    nest = [*enclosing_loops(axis), axis]
    fill = _fill_before(module, buffer, nest[0])
    constant = None if fill is None else _fill_value(fill)
    if fill is None or constant is None:
        return None
    effects = EffectAnalysis(module.operation)
    key = effects.memory_of(buffer.value).key
    if any(True in _touched(op, effects, key) for op in _outside(nest[0], axis)):
        return None
    owned = _owned_elements(nest, parts, box)
    if owned is None:
        return None
    owned = owned.intersect_range(_whole(buffer))
    if not owned.is_injective():
        return None
    read = any(
        False in _touched(op, effects, key)
        for op in [*_outside(nest[0], axis), *_between(fill, nest[0])]
    )
    always = all(parent_of(b) == a for a, b in pairwise(nest))
    superfluous = always and not read and owned.range().is_equal(_whole(buffer))
    return Initial(constant, fill if superfluous else None)


def _outside(top: ir.Operation, axis: ir.Operation) -> list[ir.Operation]:
    inside = list(walk(axis))
    return [op for op in walk(top) if op not in inside]


def _between(fill: ir.Operation, top: ir.Operation) -> list[ir.Operation]:
    found: list[ir.Operation] = []
    started = False
    for child in top.block.operations:
        op = child.operation
        if op == top:
            break
        if started:
            found += [op, *walk(op)]
        started = started or op == fill
    return found


def _touched(op: ir.Operation, effects: EffectAnalysis, key: object) -> set[bool]:
    return {effect.writes for effect in effects.effects_on(op, key)}


def _whole(buffer: FoundBuffer) -> isl.Set:
    names = [f"e{k}" for k in range(buffer.type.rank)]
    rows = [f"0 <= {n} < {extent}" for n, extent in zip(names, buffer.type.shape, strict=True)]
    return isl.Set(f"{{ [{', '.join(names)}] : {' and '.join(rows)} }}")


def _fill_before(module: ir.Module, buffer: FoundBuffer, top: ir.Operation) -> ir.Operation | None:
    """The last operation before ``top`` that writes the array, when it is a fill."""
    effects = EffectAnalysis(module.operation)
    key = effects.memory_of(buffer.value).key
    if buffer.value.owner.operation.block != top.block:
        return None
    fill: ir.Operation | None = None
    for child in top.block.operations:
        op = child.operation
        if op == top:
            return fill
        for inner in (op, *walk(op)):
            if True in _touched(inner, effects, key):
                fill = inner if inner == op and op.name == "linalg.fill" else None
    return None


def _fill_value(op: ir.Operation) -> ir.Attribute | None:
    if op.name != "linalg.fill" or isinstance(op.operands[0], ir.BlockArgument):
        return None
    source = op.operands[0].owner.operation
    return source.attributes["value"] if source.name == "arith.constant" else None


def _owned_elements(
    nest: Sequence[ir.Operation], parts: Sequence[Part], box: Sequence[tuple[int, int, int]]
) -> isl.Map | None:
    """Iterations of the nest down to the axis to the elements of their boxes."""
    if not all(is_affine_loop(op) for op in nest):
        return None
    names = {op.regions[0].blocks[0].arguments[0]: f"i{k}" for k, op in enumerate(nest)}
    used = [v for p in parts for v in p.outer.operands]
    bounds = [spec_of(op) for op in nest]
    used += [v for b in bounds for v in (*b.lower.operands, *b.upper.operands)]
    if any(v not in names for v in used):
        return None
    rows = []
    for spec, name in zip(bounds, names.values(), strict=True):
        rows += [
            f"{name} >= {expression_text(e, spec.lower, names)}" for e in spec.lower.map.results
        ]
        rows += [
            f"{name} < {expression_text(e, spec.upper, names)}" for e in spec.upper.map.results
        ]
        if spec.step > 1:
            low = spec.lower.constant()
            if low is None:
                return None
            rows.append(f"({name} - {low}) mod {spec.step} = 0")
    boxes = {position: (low, extent) for position, low, extent in box}
    targets = []
    for position, part in enumerate(parts):
        outer = expression_text(part.outer.map.results[0], part.outer, names)
        low, extent = boxes.get(position, (0, 1))
        targets.append(f"e{position}")
        rows.append(f"{outer} + {low} <= e{position} < {outer} + {low + extent}")
    inputs = ", ".join(names.values())
    return isl.Map(f"{{ [{inputs}] -> [{', '.join(targets)}] : {' and '.join(rows)} }}")


def meets_box(
    op: ir.Operation,
    axis: ir.Operation,
    parts: Sequence[Part],
    box: Sequence[tuple[int, int, int]],
) -> bool:
    """Whether an access may touch, in some iteration of ``axis``, an element of that iteration's box.

    Args:
        parts: the subscripts that name the box; only their fixed parts matter.
        box: (dimension, lowest inner part, extent); other dimensions are one element.
    """
    around = enclosing_loops(op)
    if not all(is_affine_loop(loop) for loop in around) or axis not in around:
        return True
    names = {loop.regions[0].blocks[0].arguments[0]: f"i{k}" for k, loop in enumerate(around)}
    own = bound_map(op)
    boxes = {position: (low, extent) for position, low, extent in box}
    rows: list[str] = []
    try:
        for loop, name in zip(around, names.values(), strict=True):
            spec = spec_of(loop)
            rows += [
                f"{name} >= {expression_text(e, spec.lower, names)}" for e in spec.lower.results
            ]
            rows += [
                f"{name} < {expression_text(e, spec.upper, names)}" for e in spec.upper.results
            ]
        for position, (expr, part) in enumerate(zip(own.results, parts, strict=True)):
            element = expression_text(expr, own, names)
            outer = expression_text(part.outer.map.results[0], part.outer, names)
            low, extent = boxes.get(position, (0, 1))
            rows.append(f"{outer} + {low} <= {element} < {outer} + {low + extent}")
    except (KeyError, Unknown):
        return True
    inputs = ", ".join(names.values())
    return not isl.Set(f"{{ [{inputs}] : {' and '.join(rows)} }}").is_empty()
