"""What the checks of a build are made of: arithmetic in front of the access that they guard."""

from __future__ import annotations

from collections.abc import Sequence

from ..._mlir import ir
from ...affine.maps import BoundMap


class Maker:
    """Makes operations in front of an access, at its place in the program."""

    def __init__(self, access: ir.Operation) -> None:
        self.ip = ir.InsertionPoint(access)
        self.location = access.location
        self.index: ir.Type = ir.IndexType.get()

    def op(
        self,
        name: str,
        kind: ir.Type,
        operands: Sequence[ir.Value],
        **attributes: ir.Attribute,
    ) -> ir.Value:
        """The result of an operation that has one."""
        return ir.Operation.create(
            name, [kind], list(operands), attributes=attributes, loc=self.location, ip=self.ip
        ).result

    def constant(self, number: int, kind: ir.Type | None = None) -> ir.Value:
        """An integer constant; an index unless a type is given."""
        kind = kind or self.index
        return self.op("arith.constant", kind, [], value=ir.IntegerAttr.get(kind, number))

    def applied(self, bound: BoundMap, position: int) -> ir.Value:
        """One result of an affine map."""
        single = ir.AffineMapAttr.get(bound.alone(bound.results[position]).map)
        return self.op("affine.apply", self.index, bound.operands, map=single)

    def compare(self, predicate: int, left: ir.Value, right: ir.Value) -> ir.Value:
        """``arith.cmpi`` with a predicate by number."""
        wide, bit = (ir.IntegerType.get_signless(n) for n in (64, 1))
        return self.op(
            "arith.cmpi", bit, [left, right], predicate=ir.IntegerAttr.get(wide, predicate)
        )
