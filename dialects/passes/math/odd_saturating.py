"""tanh and erf: at most 2 ulp.

Below 1 the result is x times f(x)/x, which is smooth and near 1, so that small and subnormal
operands keep their precision; from 1 on it is f(x) itself, and 1 where f rounds to 1.
"""

from __future__ import annotations

from allo.dialects._mlir import ir

from .bits import Emitter
from .operand import fixed_to_float, multiply, take_apart
from .polynomial import evaluate
from .tables import table


def expand_tanh(emitter: Emitter, value: ir.Value) -> ir.Value:
    """Hyperbolic tangent."""
    return _expand(emitter, value, "TANH")


def expand_erf(emitter: Emitter, value: ir.Value) -> ir.Value:
    """Error function."""
    return _expand(emitter, value, "ERF")


def _expand(emitter: Emitter, value: ir.Value, name: str) -> ir.Value:
    operand = take_apart(emitter, value)
    shape = operand.shape
    pieces = table(shape.name, name)
    octaves = len(pieces.coefficients) // 8
    below = shape.bias - 3  # exponent field of [1/8, 1/4); the octaves begin above it
    start = operand.exponent - below
    down = (operand.constant(below) - operand.exponent).umin(shape.width - 1)
    small = start.is_("slt", 1)
    position = emitter.select(small, operand.significand.shr(down), operand.fraction.shl(1))
    octave = start.smax(0).zext(3).zext(6)
    rest = shape.fraction - 2
    index = octave.shl(3) | position.field(rest, 3).zext(6)
    result = evaluate(pieces, index, position.zext(rest))
    factor = fixed_to_float(result, pieces.fraction, shape)

    unit = (operand.bits & shape.sign) | shape.one
    above = operand.exponent.is_("sge", shape.bias)
    bits = multiply(emitter.select(above, unit, operand.bits), factor, shape)
    saturated = emitter.select(operand.nan, operand.constant(shape.nan), unit)
    large = start.is_("sge", octaves)
    return emitter.select(large, saturated, bits).as_float(shape.name)
