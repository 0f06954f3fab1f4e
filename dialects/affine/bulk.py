"""A copy or a fill of a whole array, as the loops that it stands for."""

from __future__ import annotations

from .._mlir import arith, ir, memref
from ..core.effects import array_name
from .loops import induction_variable, inner_point, make_loop
from .maps import BoundMap

BULK = ("memref.copy", "linalg.fill")
"""Operations that write every element of their second operand."""


def expand_bulk(op: ir.Operation) -> None:
    """Replace a ``memref.copy`` or a ``linalg.fill`` by a nest of loops over the elements, in place."""
    value, target = op.operands[0], op.operands[1]
    ip, at = ir.InsertionPoint(op), op.location
    iterators: list[ir.Value] = []
    named = {"op_name": ir.StringAttr.get(f"S_{array_name(target)}")}
    for level, extent in enumerate(ir.MemRefType(target.type).shape):
        end = extent if extent >= 0 else _extent(target, level, ir.InsertionPoint(op), at)
        loop = make_loop(f"i{level}", 0, end, at, ip, attributes={} if level else named)
        iterators.append(induction_variable(loop))
        ip = inner_point(loop)
    element = ir.AffineMapAttr.get(ir.AffineMap.get_identity(len(iterators)))
    if op.name == "memref.copy":
        load = ir.Operation.create(
            "affine.load",
            results=[ir.MemRefType(value.type).element_type],
            operands=[value, *iterators],
            attributes={"map": element, "from": ir.StringAttr.get(array_name(value))},
            loc=at,
            ip=ip,
        )
        value = load.result
    ir.Operation.create(
        "affine.store",
        operands=[value, target, *iterators],
        attributes={"map": element, "to": ir.StringAttr.get(array_name(target))},
        loc=at,
        ip=ip,
    )
    op.erase()


def _extent(array: ir.Value, level: int, ip: ir.InsertionPoint, at: ir.Location) -> BoundMap:
    """An extent that is known when the program runs."""
    with ip, at:
        number = arith.ConstantOp(ir.IndexType.get(), level).result
        extent = memref.DimOp(array, number).result
    return BoundMap(ir.AffineMap.get(0, 1, [ir.AffineSymbolExpr.get(0)]), (extent,))


__all__ = ["BULK", "expand_bulk"]
