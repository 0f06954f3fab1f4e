"""tanh and erf of float32: at most 2 ulp.

Below 1 the result is x times f(x)/x, which is smooth and near 1, so that small and subnormal
operands keep their precision; from 1 on it is f(x) itself, and 1 where f rounds to 1.
"""

from __future__ import annotations

from allo.dialects._mlir import ir

from .bits import Emitter
from .polynomial import PolynomialTable, evaluate
from .single import NAN, ONE, fixed_to_single, multiply, take_apart
from .tables_f32 import ERF, TANH

_SEGMENT = 21
_FIRST = 125
"""Exponent field of 1/4, where the octaves begin."""


def expand_tanh(emitter: Emitter, value: ir.Value) -> ir.Value:
    """Hyperbolic tangent."""
    return _expand(emitter, value, TANH)


def expand_erf(emitter: Emitter, value: ir.Value) -> ir.Value:
    """Error function."""
    return _expand(emitter, value, ERF)


def _expand(emitter: Emitter, value: ir.Value, table: PolynomialTable) -> ir.Value:
    operand = take_apart(emitter, value)
    octaves = len(table.coefficients) // 8
    start = operand.exponent - (_FIRST - 1)
    small = start.is_("slt", 1)
    down = (emitter.constant(_FIRST - 1, 32) - operand.exponent).umin(31)
    position = emitter.select(small, operand.significand.shr(down), operand.fraction.shl(1))
    octave = start.smax(0).zext(3)
    index = octave.zext(6).shl(3) | position.field(_SEGMENT, 3).zext(6)
    result = evaluate(table, index, position.zext(_SEGMENT))
    factor = fixed_to_single(result, table.fraction)

    sign = operand.bits & (1 << 31)
    unit = sign | ONE
    bits = multiply(emitter.select(operand.exponent.is_("sge", 127), unit, operand.bits), factor)
    saturated = emitter.select(operand.nan, emitter.constant(NAN, 32), unit)
    large = start.is_("sge", octaves)
    return emitter.select(large, saturated, bits).as_float("f32")
