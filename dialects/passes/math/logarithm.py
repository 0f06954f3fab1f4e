"""log, log2 and log10: at most 1 ulp, exact zero at 1.

The operand is ``2**k (1 + f)`` with f in [-1/4, 1/2), so that nothing cancels; ``log(1 + f)`` is f,
which is exact, times a polynomial.
"""

from __future__ import annotations

from dataclasses import dataclass

from allo.dialects._mlir import ir

from .bits import Bits, Emitter
from .operand import Operand, fixed_to_float, normalised, take_apart
from .polynomial import PolynomialTable, evaluate
from .tables import constant, table


@dataclass(frozen=True, slots=True)
class Base:
    """A base: the table of log(1 + f)/f, and log(2) with the fraction bits of the sum, which are
    those of the table and ``fraction + 1`` of the format."""

    table: PolynomialTable
    log_of_2: int


_SEGMENTS = 5
_WIDTH = {"f32": 64, "f64": 128}
_LOG2_FRACTION = {"f32": 55, "f64": 114}


def base_of(kind: str, op: str) -> Base:
    """The base of the logarithm that ``op`` names, for a float format."""
    if op == "math.log2":
        return Base(table(kind, "LOG2"), 1 << _LOG2_FRACTION[kind])
    name = {"math.log": "LN", "math.log10": "LOG10"}[op]
    return Base(table(kind, name), constant(kind, f"{name}_OF_2"))


def expand_log(emitter: Emitter, value: ir.Value, op: str) -> ir.Value:
    """The logarithm that ``op`` names."""
    operand = take_apart(emitter, value)
    shape = operand.shape
    base = base_of(shape.name, op)
    total = fixed_log(operand, base, _WIDTH[shape.name])
    bits = fixed_to_float(total, base.table.fraction + shape.fraction + 1, shape)

    infinity = operand.constant(shape.infinity)
    infinite = operand.bits.is_("eq", shape.infinity)
    limit = emitter.select(infinite, infinity, operand.constant(shape.nan))
    bottom = operand.constant(shape.sign | shape.infinity)
    limit = emitter.select(operand.magnitude.is_("eq", 0), bottom, limit)
    special = (operand.bits - 1).is_("uge", shape.infinity - 1)
    return emitter.select(special, limit, bits).as_float(shape.name)


def fixed_log(operand: Operand, base: Base, width: int) -> Bits:
    """The logarithm of |x| as ``width`` bits."""
    emitter, shape = operand.emitter, operand.shape
    significand, field = normalised(operand)
    upper = significand.field(shape.fraction - 1, 1)
    doubled = emitter.select(upper, significand, significand.shl(1))
    distance = (doubled - (1 << shape.fraction + 1)).zext(shape.fraction + 3)
    position = (distance + (1 << shape.fraction - 1)).zext(shape.fraction + 1)
    rest = shape.fraction + 1 - _SEGMENTS
    slope = evaluate(base.table, position.field(rest, _SEGMENTS), position.zext(rest))
    product = distance.sext(width) * slope.sext(width)
    whole = (field + upper.zext(shape.width) - shape.bias).zext(shape.width - shape.fraction)
    return whole.sext(width) * base.log_of_2 + product
