"""1 / sqrt(x) in integers alone: at most 1 ulp."""

from __future__ import annotations

from allo.dialects._mlir import ir

from .bits import Emitter
from .operand import normalised, take_apart
from .polynomial import evaluate
from .tables import table


def expand_rsqrt(emitter: Emitter, value: ir.Value) -> ir.Value:
    """``x = m 4**q`` with m in [1, 4): ``2/sqrt(m)`` from a table, times ``2**(-q-1)``."""
    operand = take_apart(emitter, value)
    shape = operand.shape
    roots = table(shape.name, "RSQRT")
    significand, field = normalised(operand)
    power = field - shape.bias
    rest = shape.fraction - 4
    index = power.zext(1).zext(5).shl(4) | significand.field(rest, 4).zext(5)
    mantissa = evaluate(roots, index, significand.zext(rest)).sext(shape.width)
    low = roots.fraction - shape.fraction
    rounded = (mantissa + (1 << low - 1)).shr(low)
    bits = (operand.constant(shape.bias - 2) - power.sar(1)).shl(shape.fraction) + rounded

    infinite = operand.bits.is_("eq", shape.infinity)
    limit = emitter.select(infinite, operand.constant(0), operand.constant(shape.nan))
    pole = (operand.bits & shape.sign) | shape.infinity
    limit = emitter.select(operand.magnitude.is_("eq", 0), pole, limit)
    special = (operand.bits - 1).is_("uge", shape.infinity - 1)
    return emitter.select(special, limit, bits).as_float(shape.name)
