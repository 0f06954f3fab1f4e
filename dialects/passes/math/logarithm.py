"""log, log2 and log10 of float32: at most 1 ulp, exact zero at 1.

The operand is ``2**k (1 + f)`` with f in [-1/4, 1/2), so that nothing cancels; ``log(1 + f)`` is f,
which is exact, times a polynomial.
"""

from __future__ import annotations

from dataclasses import dataclass

from allo.dialects._mlir import ir

from .bits import Bits, Emitter
from .polynomial import PolynomialTable, evaluate
from .single import (
    FRACTION,
    INFINITY,
    NAN,
    NEGATIVE_INFINITY,
    Single,
    fixed_to_single,
    normalised,
    take_apart,
)
from .tables_f32 import LN, LN_OF_2, LOG2, LOG10, LOG10_OF_2


@dataclass(frozen=True, slots=True)
class Base:
    """A base: the table of log(1 + f)/f, and log(2) with the fraction bits of the sum."""

    table: PolynomialTable
    log_of_2: int


_SEGMENT = 19
BASES = {
    "math.log": Base(LN, LN_OF_2),
    "math.log2": Base(LOG2, 1 << 55),
    "math.log10": Base(LOG10, LOG10_OF_2),
}


def expand_log(emitter: Emitter, value: ir.Value, op: str) -> ir.Value:
    """The logarithm that ``op`` names."""
    base = BASES[op]
    operand = take_apart(emitter, value)
    total = fixed_log(operand, base.table, base.log_of_2, 64)
    bits = fixed_to_single(total, base.table.fraction + FRACTION + 1)

    nan, infinity = emitter.constant(NAN, 32), emitter.constant(INFINITY, 32)
    limit = emitter.select(operand.bits.is_("eq", INFINITY), infinity, nan)
    bottom = emitter.constant(NEGATIVE_INFINITY, 32)
    limit = emitter.select(operand.magnitude.is_("eq", 0), bottom, limit)
    special = (operand.bits - 1).is_("uge", INFINITY - 1)
    return emitter.select(special, limit, bits).as_float("f32")


def fixed_log(operand: Single, table: PolynomialTable, log_of_2: int, width: int) -> Bits:
    """The logarithm of |x| as ``width`` bits with 24 fraction bits more than the table has."""
    emitter = operand.emitter
    significand, field = normalised(operand)
    upper = significand.field(FRACTION - 1, 1)
    doubled = emitter.select(upper, significand, significand.shl(1))
    distance = (doubled - (1 << FRACTION + 1)).zext(26)
    position = (distance + (1 << FRACTION - 1)).zext(24)
    slope = evaluate(table, position.field(_SEGMENT, 5), position.zext(_SEGMENT))
    product = distance.sext(width) * slope.sext(width)
    power = (field + upper.zext(32) - 127).zext(9)
    return power.sext(width) * log_of_2 + product
