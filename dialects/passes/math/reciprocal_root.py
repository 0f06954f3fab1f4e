"""1 / sqrt(x) of float32, in integers alone: at most 1 ulp."""

from __future__ import annotations

from allo.dialects._mlir import ir

from .bits import Emitter
from .polynomial import evaluate
from .single import FRACTION, INFINITY, NAN, normalised, take_apart
from .tables_f32 import RSQRT

_SEGMENT = 19


def expand_rsqrt(emitter: Emitter, value: ir.Value) -> ir.Value:
    """``x = m 4**q`` with m in [1, 4): ``2/sqrt(m)`` from a table, times ``2**(-q-1)``."""
    operand = take_apart(emitter, value)
    significand, field = normalised(operand)
    power = field - 127
    index = power.zext(1).zext(5).shl(4) | significand.field(_SEGMENT, 4).zext(5)
    mantissa = evaluate(RSQRT, index, significand.zext(_SEGMENT)).sext(32)
    low = RSQRT.fraction - FRACTION
    rounded = (mantissa + (1 << low - 1)).shr(low)
    bits = (emitter.constant(125, 32) - power.sar(1)).shl(FRACTION) + rounded

    sign = operand.bits & (1 << 31)
    zero = operand.magnitude.is_("eq", 0)
    limit = emitter.select(
        operand.bits.is_("eq", INFINITY), emitter.constant(0, 32), emitter.constant(NAN, 32)
    )
    limit = emitter.select(zero, sign | INFINITY, limit)
    special = (operand.bits - 1).is_("uge", INFINITY - 1)
    return emitter.select(special, limit, bits).as_float("f32")
