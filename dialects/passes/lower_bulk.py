"""Whole-array fill and copy become affine loop nests.

Assumes core IR; leaves no ``linalg.fill`` and no ``memref.copy``. Each becomes one nest over the
array's extents, the innermost loop with ``pipeline_ii = 1``, named after the array, with the
location of the operation it replaces.
"""

from __future__ import annotations

from .._mlir import ir
from ..affine.loops import body_of, inner_point, make_loop, string_attribute, walk
from ..affine.maps import BoundMap, constant_map, identity_map


def lower_bulk(module: ir.Module) -> None:
    """Replace ``linalg.fill`` and ``memref.copy`` by loops, in place."""
    with module.context, ir.Location.unknown():
        # Chosen before the first goes: a fill takes the operations of its body with it.
        fills = [op for op in walk(module.operation) if op.name == "linalg.fill"]
        copies = [op for op in walk(module.operation) if op.name == "memref.copy"]
        for op in fills:
            _lower_fill(op)
        for op in copies:
            _lower_copy(op)


def _lower_fill(op: ir.Operation) -> None:
    value, target = op.operands[0], op.operands[1]
    name = _variable(target)
    ip, index = _nest(op, target, f"{name}_fill")
    _store(value, target, index, name, op.location, ip)
    op.erase()


def _lower_copy(op: ir.Operation) -> None:
    source, target = op.operands[0], op.operands[1]
    from_name, to_name = _variable(source), _variable(target)
    ip, index = _nest(op, target, f"{to_name}_copy")
    load = ir.Operation.create(
        "affine.load",
        results=[ir.MemRefType(source.type).element_type],
        operands=[source, *index.operands],
        attributes={
            "map": ir.AffineMapAttr.get(index.map),
            "from": ir.StringAttr.get(from_name),
        },
        loc=op.location,
        ip=ip,
    )
    _store(load.result, target, index, to_name, op.location, ip)
    op.erase()


def _store(
    value: ir.Value,
    target: ir.Value,
    index: BoundMap,
    name: str,
    location: ir.Location,
    ip: ir.InsertionPoint,
) -> None:
    ir.Operation.create(
        "affine.store",
        operands=[value, target, *index.operands],
        attributes={"map": ir.AffineMapAttr.get(index.map), "to": ir.StringAttr.get(name)},
        loc=location,
        ip=ip,
    )


def _nest(op: ir.Operation, target: ir.Value, base: str) -> tuple[ir.InsertionPoint, BoundMap]:
    kind = ir.MemRefType(target.type)
    ip = ir.InsertionPoint(op)
    loops: list[ir.Operation] = []
    bounds = [_extent(op, target, kind, dim) for dim in range(kind.rank)]
    for dim, bound in enumerate(bounds):
        attributes = {} if loops else {"op_name": ir.StringAttr.get(base)}
        loop = make_loop(f"{base}_{dim}", 0, bound, op.location, ip, attributes=attributes)
        loops.append(loop)
        ip = inner_point(loop)
    if loops:
        interval = ir.IntegerAttr.get(ir.IntegerType.get_unsigned(32), 1)
        loops[-1].attributes["pipeline_ii"] = interval
    return ip, identity_map([body_of(loop).arguments[0] for loop in loops])


def _extent(op: ir.Operation, target: ir.Value, kind: ir.MemRefType, dim: int) -> BoundMap:
    if not kind.is_dynamic_dim(dim):
        return constant_map(kind.get_dim_size(dim))
    index = ir.IndexType.get()
    before = ir.InsertionPoint(op)
    position = ir.Operation.create(
        "arith.constant",
        results=[index],
        attributes={"value": ir.IntegerAttr.get(index, dim)},
        loc=op.location,
        ip=before,
    )
    extent = ir.Operation.create(
        "memref.dim",
        results=[index],
        operands=[target, position.result],
        loc=op.location,
        ip=before,
    )
    symbol = ir.AffineMap.get(0, 1, [ir.AffineExpr.get_symbol(0)])
    return BoundMap(symbol, (extent.result,))


def _variable(value: ir.Value) -> str:
    if isinstance(value, ir.BlockArgument):
        function = value.owner.owner
        if "arg_names" in function.attributes:
            names = ir.ArrayAttr(function.attributes["arg_names"])
            return ir.StringAttr(names[value.arg_number]).value
        return f"arg{value.arg_number}"
    op = value.owner.operation
    if op.name == "memref.get_global":
        return ir.FlatSymbolRefAttr(op.attributes["name"]).value
    return string_attribute(op, "name") or "array"
