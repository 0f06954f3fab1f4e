"""Affine maps and sets with their operands: reading the operations that hold them.

An affine operation holds one or two groups of operands, each read through a map or an integer set.
:mod:`substitute` changes them, :mod:`allo.dialects.core.expressions` walks their expressions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from .._mlir import ir
from ..core.expressions import fold, leaves


@dataclass(frozen=True, slots=True)
class BoundMap:
    """An affine map applied to operands: dims first, then symbols, as MLIR orders them."""

    map: ir.AffineMap
    operands: tuple[ir.Value, ...]

    @property
    def dims(self) -> tuple[ir.Value, ...]:
        """The operands of the map's dimensions."""
        return self.operands[: self.map.n_dims]

    @property
    def symbols(self) -> tuple[ir.Value, ...]:
        """The operands of the map's symbols."""
        return self.operands[self.map.n_dims :]

    @property
    def results(self) -> list[ir.AffineExpr]:
        """The expressions that the map gives."""
        return list(self.map.results)

    def alone(self, expr: ir.AffineExpr) -> BoundMap:
        """The map of one expression over the same operands."""
        made = ir.AffineMap.get(self.map.n_dims, self.map.n_symbols, [expr])
        return BoundMap(made, self.operands)

    def fold[T](
        self,
        expr: ir.AffineExpr,
        operand: Callable[[ir.Value], T],
        constant: Callable[[int], T],
        join: Callable[[str, T, T], T],
    ) -> T:
        """What the operands of an expression and its constants give, put together by ``join``."""
        dims, symbols = self.dims, self.symbols
        leaf = leaves(lambda k: operand(dims[k]), lambda k: operand(symbols[k]), constant)
        return fold(expr, leaf, join)

    def constant(self) -> int | None:
        """The single constant the map yields, or None."""
        results = self.map.results
        if len(results) == 1 and isinstance(results[0], ir.AffineConstantExpr):
            return int(results[0].value)
        return None


def constant_map(value: int) -> BoundMap:
    """The map ``() -> (value)``."""
    return BoundMap(ir.AffineMap.get_constant(value), ())


def identity_map(values: Sequence[ir.Value]) -> BoundMap:
    """The map that reads the given index values one by one."""
    return BoundMap(ir.AffineMap.get_identity(len(values)), tuple(values))


@dataclass(frozen=True, slots=True)
class Group:
    """Where an operation keeps one map and its operands."""

    attribute: str
    start: int
    count: int


_SINGLE_GROUP = {
    "affine.load": ("map", 1),
    "affine.store": ("map", 2),
    "affine.apply": ("map", 0),
    "affine.min": ("map", 0),
    "affine.max": ("map", 0),
    "affine.if": ("condition", 0),
}


def groups_of(op: ir.Operation) -> tuple[Group, ...]:
    """The map groups of an operation; empty for operations that are not affine."""
    single = _SINGLE_GROUP.get(op.name)
    if single is not None:
        return (Group(single[0], single[1], len(op.operands) - single[1]),)
    if op.name != "affine.for":
        return ()
    lower, upper, _ = ir.DenseI32ArrayAttr(op.attributes["operandSegmentSizes"])
    return (Group("lowerBoundMap", 0, lower), Group("upperBoundMap", lower, upper))


def bound_map(op: ir.Operation | ir.OpView, attribute: str = "map") -> BoundMap:
    """The map of an affine operation with its operands."""
    operation = op.operation
    for group in groups_of(operation):
        if group.attribute == attribute:
            operands = list(operation.operands)[group.start : group.start + group.count]
            return BoundMap(operation.attributes[attribute].value, tuple(operands))
    raise KeyError(f"{operation.name} has no map {attribute!r}")


@dataclass(frozen=True, slots=True)
class Condition:
    """The condition of an ``affine.if``: every expression is >= 0, or == 0 where ``equal`` says so."""

    exprs: BoundMap
    equal: tuple[bool, ...]

    def attribute(self) -> ir.IntegerSetAttr:
        """The condition as the integer set of an ``affine.if``."""
        bound = self.exprs.map
        made = ir.IntegerSet.get(
            bound.n_dims, bound.n_symbols, list(bound.results), list(self.equal)
        )
        return ir.IntegerSetAttr.get(made)


_SET = re.compile(r"affine_set<(?P<inputs>\(.*?\)(?:\[.*?\])?) : \((?P<rows>.*)\)>\Z")


def rows_of(attribute: ir.Attribute) -> tuple[ir.AffineMap, tuple[bool, ...]]:
    """The expressions of an integer set as a map; and of each whether it is 0 or at least 0.

    The bindings give no access to the set inside the attribute, so its text is read.
    """
    match = _SET.match(str(attribute))
    if match is None:
        raise TypeError(f"unreadable condition {attribute}")
    # No expression has a comma in it, and each ends in "== 0" or ">= 0".
    rows = [row.rsplit(" ", 2) for row in match["rows"].split(", ")]
    exprs = ", ".join(expr for expr, *_ in rows)
    text = f"affine_map<{match['inputs']} -> ({exprs})>"
    made = ir.AffineMapAttr(ir.Attribute.parse(text, attribute.context))
    return made.value, tuple(relation == "==" for _, relation, _ in rows)


def condition_of(op: ir.Operation | ir.OpView) -> Condition:
    """The condition of an ``affine.if`` with its operands."""
    operation = op.operation
    exprs, equal = rows_of(operation.attributes["condition"])
    return Condition(BoundMap(exprs, tuple(operation.operands)), equal)
