"""Associative operations: what leaves a value as it is, and trees of them.

Integer operations are exact in any grouping; float sums and products are not, minimum and maximum are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .._mlir import ir

MODULAR = frozenset({"arith.addi", "arith.muli", "arith.andi", "arith.ori", "arith.xori"})
"""Their low bits depend on the low bits of their operands alone: casts between widths change nothing."""
EXTREMES = frozenset(
    {
        "arith.maxsi",
        "arith.minsi",
        "arith.maxui",
        "arith.minui",
        "arith.maximumf",
        "arith.minimumf",
        "arith.maxnumf",
        "arith.minnumf",
    }
)
ROUNDED = frozenset({"arith.addf", "arith.mulf"})
DIFFERENCES = {"arith.subi": "arith.addi", "arith.subf": "arith.addf"}
"""A difference is a sum with a sign."""
FLOATS = ROUNDED | {name for name in EXTREMES if name.endswith("f")}
ASSOCIATIVE = MODULAR | EXTREMES | ROUNDED


def family_of(name: str) -> str | None:
    """The associative operation that an operation is an instance of; None for any other."""
    name = DIFFERENCES.get(name, name)
    return name if name in ASSOCIATIVE else None


def neutral(family: str, kind: ir.Type) -> ir.Attribute:
    """The value that changes no other: −0 for a float sum, for 0 + −0 is 0."""
    if not isinstance(kind, (ir.IntegerType, ir.IndexType)):
        return ir.FloatAttr.get(kind, _NEUTRAL_FLOATS[family])
    width = 64 if isinstance(kind, ir.IndexType) else kind.width
    top = 1 << (width - 1)
    value = {
        "arith.muli": 1,
        "arith.andi": -1,
        "arith.minui": -1,
        "arith.maxsi": -top,
        "arith.minsi": top - 1,
    }.get(family, 0)
    if width == 1:
        value &= 1
    return ir.IntegerAttr.get(kind, value)


_NEUTRAL_FLOATS = {
    "arith.addf": -0.0,
    "arith.mulf": 1.0,
    "arith.maximumf": float("-inf"),
    "arith.maxnumf": float("-inf"),
    "arith.minimumf": float("inf"),
    "arith.minnumf": float("inf"),
}


@dataclass(frozen=True, slots=True)
class Operand:
    """An operand of a tree; ``negative`` where a sum subtracts it."""

    value: ir.Value
    negative: bool = False


def tree(
    family: str, operands: Sequence[Operand], location: ir.Location, ip: ir.InsertionPoint
) -> Operand:
    """Operations that combine neighbours until one operand is left; its depth is the least there is."""
    row = list(operands)
    while len(row) > 1:
        pairs = zip(row[::2], row[1::2], strict=False)
        joined = [_joined(family, a, b, location, ip) for a, b in pairs]
        row = [*joined, *([row[-1]] if len(row) % 2 else [])]
    return row[0]


def combine(
    family: str, a: ir.Value, b: ir.Value, location: ir.Location, ip: ir.InsertionPoint
) -> ir.Value:
    """One operation on two values."""
    return ir.Operation.create(family, [a.type], [a, b], loc=location, ip=ip).result


def _joined(
    family: str, a: Operand, b: Operand, location: ir.Location, ip: ir.InsertionPoint
) -> Operand:
    if a.negative == b.negative:
        return Operand(combine(family, a.value, b.value, location, ip), a.negative)
    difference = next(name for name, sum_ in DIFFERENCES.items() if sum_ == family)
    plus, minus = (b, a) if a.negative else (a, b)
    return Operand(combine(difference, plus.value, minus.value, location, ip))
