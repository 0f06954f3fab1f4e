"""tanh and erf: at most 2 ulp.

Below 1 the result is x times f(x)/x, which is smooth and near 1, so that small and subnormal
operands keep their precision; from 1 on it is f(x) itself, and 1 where f rounds to 1.
"""

from __future__ import annotations

from allo.dialects._mlir import ir

from . import tables_f32, tables_f64
from .bits import Emitter
from .operand import fixed_to_float, multiply, take_apart
from .polynomial import PolynomialTable, evaluate

_TANH = {"f32": tables_f32.TANH, "f64": tables_f64.TANH}
_ERF = {"f32": tables_f32.ERF, "f64": tables_f64.ERF}


def expand_tanh(emitter: Emitter, value: ir.Value) -> ir.Value:
    """Hyperbolic tangent."""
    return _expand(emitter, value, _TANH)


def expand_erf(emitter: Emitter, value: ir.Value) -> ir.Value:
    """Error function."""
    return _expand(emitter, value, _ERF)


def _expand(emitter: Emitter, value: ir.Value, tables: dict[str, PolynomialTable]) -> ir.Value:
    operand = take_apart(emitter, value)
    shape = operand.shape
    table = tables[shape.name]
    octaves = len(table.coefficients) // 8
    below = shape.bias - 3  # exponent field of [1/8, 1/4); the octaves begin above it
    start = operand.exponent - below
    down = (operand.constant(below) - operand.exponent).umin(shape.width - 1)
    small = start.is_("slt", 1)
    position = emitter.select(small, operand.significand.shr(down), operand.fraction.shl(1))
    octave = start.smax(0).zext(3).zext(6)
    rest = shape.fraction - 2
    index = octave.shl(3) | position.field(rest, 3).zext(6)
    result = evaluate(table, index, position.zext(rest))
    factor = fixed_to_float(result, table.fraction, shape)

    unit = (operand.bits & shape.sign) | shape.one
    above = operand.exponent.is_("sge", shape.bias)
    bits = multiply(emitter.select(above, unit, operand.bits), factor, shape)
    saturated = emitter.select(operand.nan, operand.constant(shape.nan), unit)
    large = start.is_("sge", octaves)
    return emitter.select(large, saturated, bits).as_float(shape.name)
