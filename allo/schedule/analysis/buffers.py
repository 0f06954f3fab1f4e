"""What primitives that make buffers share: names, declared types, subscripts by parts."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from allo.dialects._mlir import ir
from allo.dialects.affine.loops import (
    body_operations,
    inner_point,
    join_bounds,
    parent_of,
    terminator,
)
from allo.dialects.affine.maps import BoundMap, Condition, constant_map
from allo.dialects.affine.substitute import simplify
from allo.dialects.core.expressions import linear_form
from allo.dialects.core.rewrite import replace_operation
from allo.dialects.core.signature import signature_of
from allo.dialects.ranges.indices import map_range
from allo.dialects.text.free_name import free_name

from ..resolve import buffers_of


def fresh_name(function: ir.Operation, wanted: str) -> str:
    """``wanted``, or with ``_1``, ``_2`` … where a buffer of the function has that name."""
    return free_name(wanted, buffers_of(function))


def declared_attributes(function: ir.Operation, value: ir.Value) -> dict[str, ir.Attribute]:
    """``unsigned`` and ``dtype`` of the variable behind a memref, for a buffer of the same type."""
    if isinstance(value, ir.BlockArgument):
        return _argument_attributes(function, value)
    attributes = value.owner.operation.attributes
    return {n: attributes[n] for n in ("unsigned", "dtype") if n in attributes}


def _argument_attributes(
    function: ir.Operation, value: ir.BlockArgument
) -> dict[str, ir.Attribute]:
    text = signature_of(function).declared[value.arg_number]
    if text.startswith("ui"):
        return {"unsigned": ir.UnitAttr.get()}
    if text.startswith(("fixed", "ufixed", "struct")):
        return {"dtype": ir.StringAttr.get(text)}
    return {}


@dataclass(frozen=True, slots=True)
class Part:
    """One subscript as ``outer + inner``: the part fixed within a region and the part that moves.

    Attributes:
        outer: a one-result map over values from outside the region.
        coefficients: value inside the region to its coefficient; empty when nothing moves.
    """

    outer: BoundMap
    coefficients: tuple[tuple[ir.Value, int], ...]


def split_subscripts(bound: BoundMap, inside: Collection[ir.Value]) -> list[Part] | None:
    """Each subscript as outer and inner part; None where an inner part is not linear."""
    parts: list[Part] = []
    for expr in bound.map.results:
        single = simplify(bound.alone(expr))
        moving = [v for v in single.operands if v in inside]
        if not moving:
            parts.append(Part(single, ()))
            continue
        form = None
        if not single.map.n_symbols:
            form = linear_form(single.map.results[0], single.map.n_dims)
        if form is None:
            return None
        coefficients, constant = form
        outer = ir.AffineExpr.get_constant(constant)
        inner: list[tuple[ir.Value, int]] = []
        for position, (value, c) in enumerate(zip(single.operands, coefficients, strict=True)):
            if value in inside:
                inner.append((value, c))
                continue
            term = ir.AffineExpr.get_mul(
                ir.AffineExpr.get_dim(position), ir.AffineExpr.get_constant(c)
            )
            outer = ir.AffineExpr.get_add(outer, term)
        outer_map = BoundMap(ir.AffineMap.get(single.map.n_dims, 0, [outer]), single.operands)
        parts.append(Part(simplify(outer_map), tuple(inner)))
    return parts


def linear_map(terms: Sequence[tuple[ir.Value, int]], constant: int) -> BoundMap:
    """The one-result map ``sum(coefficient * value) + constant``."""
    expr = ir.AffineExpr.get_constant(constant)
    for position, (_, coefficient) in enumerate(terms):
        term = ir.AffineExpr.get_mul(
            ir.AffineExpr.get_dim(position), ir.AffineExpr.get_constant(coefficient)
        )
        expr = ir.AffineExpr.get_add(expr, term)
    made = ir.AffineMap.get(len(terms), 0, [expr])
    return simplify(BoundMap(made, tuple(value for value, _ in terms)))


def add_index(outer: BoundMap, value: ir.Value | None, constant: int = 0) -> BoundMap:
    """``outer + value + constant`` as a one-result map."""
    expr = ir.AffineExpr.get_add(outer.map.results[0], ir.AffineExpr.get_constant(constant))
    dims, symbols = outer.dims, outer.symbols
    count = len(dims)
    if value is not None:
        expr = ir.AffineExpr.get_add(expr, ir.AffineExpr.get_dim(count))
        dims = (*dims, value)
        count += 1
    made = ir.AffineMap.get(count, len(symbols), [expr])
    return simplify(BoundMap(made, (*dims, *symbols)))


def sum_maps(left: BoundMap, right: BoundMap) -> BoundMap:
    """The sum of two one-result maps; ``right`` has no symbols."""
    count = len(left.dims)
    shifted = right.map.results[0].shift_dims(len(right.dims), count) if count else None
    expr = ir.AffineExpr.get_add(left.map.results[0], shifted or right.map.results[0])
    made = ir.AffineMap.get(count + len(right.dims), len(left.symbols), [expr])
    return simplify(BoundMap(made, (*left.dims, *right.dims, *left.symbols)))


def box_bounds(
    outer: BoundMap, low: int, extent: int, kind: ir.MemRefType, dim: int
) -> tuple[BoundMap, BoundMap]:
    """Bounds of a loop over ``outer + low + 0 … extent - 1`` that stays inside the array.

    The last tile of a split that does not divide, for example, reaches past the end.
    """
    around = map_range(outer)
    below = around is None or around[0] + low < 0
    above = not kind.is_dynamic_dim(dim) and (
        around is None or around[1] + low + extent > kind.get_dim_size(dim)
    )
    lower, upper = constant_map(0), constant_map(extent)
    if below:
        lower = join_bounds(lower, scaled(outer, -1, -low))
    if above:
        upper = join_bounds(upper, scaled(outer, -1, kind.get_dim_size(dim) - low))
    return lower, upper


def outside_rows(index: BoundMap, kind: ir.MemRefType, dim: int, block: ir.Block) -> list[BoundMap]:
    """What is negative where a subscript leaves its array, as far as it can in a block."""
    around = map_range(index, block.operations[0].operation)
    rows = [index] if around is None or around[0] < 0 else []
    if kind.is_dynamic_dim(dim):
        return rows
    size = kind.get_dim_size(dim)
    above = around is None or around[1] >= size
    return [*rows, scaled(index, -1, size - 1)] if above else rows


def common_block(loop: ir.Operation, ops: Sequence[ir.Operation]) -> ir.Block:
    """The block that holds all ``ops`` and runs once an iteration of ``loop``, or not at all.

    It is the loop's body, or a branch of conditions in it that all of them stand under.
    """
    block = loop.regions[0].blocks[0]
    while True:
        inside = [child_towards(block, op) for op in ops]
        only = inside[0]
        if only.name not in ("affine.if", "scf.if") or any(op != only for op in inside):
            return block
        branches = [b for region in only.regions for b in region.blocks]
        holding = [b for b in branches if all(is_inside(b, op) for op in ops)]
        if not holding:
            return block
        block = holding[0]


def child_towards(block: ir.Block, op: ir.Operation) -> ir.Operation:
    """The operation of a block that is or holds ``op``."""
    current = op
    while current.block != block and (parent := parent_of(current)) is not None:
        current = parent
    return current


def is_inside(block: ir.Block, op: ir.Operation) -> bool:
    """Whether a block holds an operation, at any depth."""
    return bool(child_towards(block, op).block == block)


def scaled(bound: BoundMap, factor: int, constant: int) -> BoundMap:
    """``factor * bound + constant`` of a one-result map."""
    scaled = ir.AffineExpr.get_mul(bound.map.results[0], ir.AffineExpr.get_constant(factor))
    expr = ir.AffineExpr.get_add(scaled, ir.AffineExpr.get_constant(constant))
    return simplify(bound.alone(expr))


def make_guard(
    rows: Sequence[BoundMap], location: ir.Location, ip: ir.InsertionPoint
) -> ir.Operation:
    """An ``affine.if`` with an empty body, which runs where no row is negative."""
    condition = Condition(join_maps(rows), (False,) * len(rows))
    guard = ir.Operation.create(
        "affine.if",
        operands=list(condition.exprs.operands),
        attributes={"condition": condition.attribute()},
        regions=2,
        loc=location,
        ip=ip,
    )
    block = guard.regions[0].blocks.append()
    ir.Operation.create("affine.yield", loc=location, ip=ir.InsertionPoint(block))
    return guard


def guard_body(loop: ir.Operation, rows: Sequence[BoundMap]) -> None:
    """Put the body of a loop under the condition that no row is negative."""
    operations = body_operations(loop)
    guard = make_guard(rows, loop.location, inner_point(loop))
    end = terminator(guard.regions[0].blocks[0])
    for op in operations:
        op.move_before(end)


def point_within(
    array: ir.Value, element: BoundMap, location: ir.Location, ip: ir.InsertionPoint
) -> ir.InsertionPoint:
    """Where ``element`` surely is one of an array's: ``ip``, or there under a condition on its subscripts.

    Behind a loop whose accesses stand under a condition, or that runs no iteration, the element may be none.
    """
    rows: list[BoundMap] = []
    for expr, extent in zip(element.map.results, ir.MemRefType(array.type).shape, strict=True):
        subscript = simplify(element.alone(expr))
        known = map_range(subscript, ip.ref_operation)
        if known is None or known[0] < 0:
            rows.append(subscript)
        if known is None or known[1] >= extent:
            room = ir.AffineExpr.get_add(expr * -1, ir.AffineExpr.get_constant(extent - 1))
            rows.append(simplify(element.alone(room)))
    if not rows:
        return ip
    guard = make_guard(rows, location, ip)
    return ir.InsertionPoint(terminator(guard.regions[0].blocks[0]))


def load(
    memref: ir.Value, bound: BoundMap, name: str, location: ir.Location, ip: ir.InsertionPoint
) -> ir.Value:
    """An ``affine.load`` of one element."""
    kind = ir.MemRefType(memref.type)
    op = ir.Operation.create(
        "affine.load",
        results=[kind.element_type],
        operands=[memref, *bound.operands],
        attributes={"map": ir.AffineMapAttr.get(bound.map), "from": ir.StringAttr.get(name)},
        loc=location,
        ip=ip,
    )
    return op.result


def store(
    value: ir.Value,
    memref: ir.Value,
    bound: BoundMap,
    name: str,
    location: ir.Location,
    ip: ir.InsertionPoint,
) -> ir.Operation:
    """An ``affine.store`` of one element."""
    return ir.Operation.create(
        "affine.store",
        operands=[value, memref, *bound.operands],
        attributes={"map": ir.AffineMapAttr.get(bound.map), "to": ir.StringAttr.get(name)},
        loc=location,
        ip=ip,
    )


def alloc(
    kind: ir.MemRefType,
    name: str,
    attributes: dict[str, ir.Attribute],
    location: ir.Location,
    ip: ir.InsertionPoint,
) -> ir.Value:
    """A local array."""
    named = {
        "name": ir.StringAttr.get(name),
        "operandSegmentSizes": ir.DenseI32ArrayAttr.get([0, 0]),
    }
    op = ir.Operation.create(
        "memref.alloc", results=[kind], attributes=attributes | named, loc=location, ip=ip
    )
    return op.result


def redirect(op: ir.Operation, memref: ir.Value, bound: BoundMap, name: str) -> ir.Operation:
    """Make a load or store access ``memref`` at ``bound`` instead."""
    is_load = op.name == "affine.load"
    lead = [memref] if is_load else [op.operands[0], memref]
    attributes = {n: op.attributes[n] for n in op.attributes}
    attributes["map"] = ir.AffineMapAttr.get(bound.map)
    attributes["from" if is_load else "to"] = ir.StringAttr.get(name)
    return replace_operation(op, op.name, [*lead, *bound.operands], attributes)


def join_maps(maps: Sequence[BoundMap]) -> BoundMap:
    """One map with the results of all, in order."""
    return join_bounds(*maps) if maps else BoundMap(ir.AffineMap.get_empty(), ())
