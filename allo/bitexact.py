"""NumPy functions with exactly the bits the CPU build and the hardware give.

``np.exp`` and a kernel's ``allo.exp`` may differ in the last place. A reference that must equal
hardware bit for bit uses these: the fixed-point programs of ``allo.dialects.passes.math``, on
int64 arrays, from the same tables. float32 in, float32 out, any shape.
"""

from __future__ import annotations

import numpy as np

from allo.dialects.passes.math.polynomial import PolynomialTable
from allo.dialects.passes.math.tables import constant, table

__all__ = ["erf", "exp", "log", "rsqrt", "tanh"]

_FRACTION = 23
_INFINITY, _NAN, _ONE = 0x7F800000, 0x7FC00000, 0x3F800000
_POSITION = 27
_TOP = 133
"""Largest exponent field for which ``exp`` neither overflows nor vanishes for certain."""


def _bits(x: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(x, np.float32).view(np.uint32).astype(np.int64)


def _float(bits: np.ndarray) -> np.ndarray:
    return (bits & 0xFFFFFFFF).astype(np.uint32).view(np.float32)


def _evaluate(
    table: PolynomialTable, index: np.ndarray, local: np.ndarray, bits: int
) -> np.ndarray:
    """Horner's rule as ``polynomial.evaluate`` runs it; ``local`` is unsigned of ``bits`` bits."""
    rows = np.array(table.coefficients, np.int64)
    coefficients = rows[np.minimum(index, len(rows) - 1)]
    position = local - (1 << (bits - 1))
    result: np.ndarray = coefficients[..., table.degree]
    for power in reversed(range(table.degree)):
        width = table.sum_width(power + 1)
        keep = min(bits, width + 1)
        product = result * (position >> (bits - keep))
        result = (product >> (keep - 1)) + coefficients[..., power]
    return result


def exp(x: np.ndarray) -> np.ndarray:
    """``e ** x``."""
    bits = _bits(x)
    exponent = (bits >> _FRACTION) & 0xFF
    significand = bits & ((1 << _FRACTION) - 1) | (1 << _FRACTION)
    left = _TOP + _POSITION - 150
    width = _FRACTION + 1 + left + 1
    amount = np.minimum((_TOP - exponent) & 0xFFFFFFFF, width - 1)
    size = (significand << left) >> amount
    # size * log2_of_e has up to 69 bits: multiply in two halves, then drop 33 bits.
    log2_of_e = constant("f32", "LOG2_OF_E")
    low = (size & 0x1FFFF) * log2_of_e
    power = ((size >> 17) * log2_of_e + (low >> 17)) >> 16
    negative = bits >> 31 == 1
    result, overflow = _power_of_two(np.where(negative, -power, power))
    limit = np.where(negative, 0, _INFINITY)
    limit = np.where(bits & 0x7FFFFFFF > _INFINITY, _NAN, limit)
    return _float(np.where(overflow | (exponent > _TOP), limit, result))


def _power_of_two(power: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    whole, part = power >> _POSITION, power & ((1 << _POSITION) - 1)
    segment = _POSITION - 4
    powers = table("f32", "EXP2")
    mantissa = _evaluate(powers, part >> segment, part & ((1 << segment) - 1), segment)
    field = whole + 126
    down = np.minimum(np.maximum(-field, 0), 31)
    drop = powers.fraction - _FRACTION
    rounded = ((mantissa >> down) + (1 << (drop - 1))) >> drop
    return (np.maximum(field, 0) << _FRACTION) + rounded, field >= 254


def log(x: np.ndarray) -> np.ndarray:
    """The natural logarithm."""
    segment = 19
    bits = _bits(x)
    significand, field = _normalised(bits)
    upper = significand >> (_FRACTION - 1) & 1
    doubled = np.where(upper, significand, significand << 1)
    distance = doubled - (1 << (_FRACTION + 1))
    position = (distance + (1 << (_FRACTION - 1))) & ((1 << (_FRACTION + 1)) - 1)
    slopes = table("f32", "LN")
    slope = _evaluate(slopes, position >> segment, position & ((1 << segment) - 1), segment)
    total = (field + upper - 127) * constant("f32", "LN_OF_2") + distance * slope
    result = _fixed_to_single(total, slopes.fraction + _FRACTION + 1)
    limit = np.where(bits == _INFINITY, _INFINITY, _NAN)
    limit = np.where(bits & 0x7FFFFFFF == 0, 1 << 31 | _INFINITY, limit)
    special = (bits - 1) & 0xFFFFFFFF >= _INFINITY - 1
    return _float(np.where(special, limit, result))


def _normalised(bits: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Significand with the hidden bit set and its exponent field, below 1 for subnormals."""
    exponent = (bits >> _FRACTION) & 0xFF
    hidden = (exponent != 0).astype(np.int64)
    significand = hidden << _FRACTION | bits & ((1 << _FRACTION) - 1)
    _, length = np.frexp(np.maximum(significand, 1).astype(np.float64))
    shift = 24 - length.astype(np.int64)
    return significand << shift, exponent + (1 - hidden) - shift


def tanh(x: np.ndarray) -> np.ndarray:
    """Hyperbolic tangent."""
    return _odd_saturating(x, table("f32", "TANH"))


def erf(x: np.ndarray) -> np.ndarray:
    """Error function."""
    return _odd_saturating(x, table("f32", "ERF"))


def _odd_saturating(x: np.ndarray, table: PolynomialTable) -> np.ndarray:
    first, segment = 125, 21
    bits = _bits(x)
    exponent = (bits >> _FRACTION) & 0xFF
    fraction = bits & ((1 << _FRACTION) - 1)
    significand = fraction | (1 << _FRACTION)
    octaves = len(table.coefficients) // 8
    start = exponent - (first - 1)
    down = np.minimum((first - 1 - exponent) & 0xFFFFFFFF, 31)
    position = np.where(start < 1, significand >> down, fraction << 1)
    octave = np.maximum(start, 0) & 7
    index = octave << 3 | (position >> segment) & 7
    value = _evaluate(table, index, position & ((1 << segment) - 1), segment)
    factor = _fixed_to_single(value, table.fraction)
    sign = bits & (1 << 31)
    unit = sign | _ONE
    left = np.where(exponent >= 127, unit, bits)
    with np.errstate(invalid="ignore", under="ignore", over="ignore"):
        product = _bits(_float(left) * _float(factor))
    saturated = np.where(bits & 0x7FFFFFFF > _INFINITY, _NAN, unit)
    return _float(np.where(start >= octaves, saturated, product))


def _fixed_to_single(value: np.ndarray, fraction: int) -> np.ndarray:
    scaled = _bits(value.astype(np.float32)) - (fraction << _FRACTION)
    return np.where(value == 0, 0, scaled) & 0xFFFFFFFF


def rsqrt(x: np.ndarray) -> np.ndarray:
    """``1 / sqrt(x)``."""
    segment = 19
    bits = _bits(x)
    significand, field = _normalised(bits)
    power = field - 127
    index = (power & 1) << 4 | (significand >> segment) & 15
    roots = table("f32", "RSQRT")
    mantissa = _evaluate(roots, index, significand & ((1 << segment) - 1), segment)
    drop = roots.fraction - _FRACTION
    rounded = (mantissa + (1 << (drop - 1))) >> drop
    result = ((125 - (power >> 1)) << _FRACTION) + rounded
    limit = np.where(bits == _INFINITY, 0, _NAN)
    limit = np.where(bits & 0x7FFFFFFF == 0, bits & (1 << 31) | _INFINITY, limit)
    special = (bits - 1) & 0xFFFFFFFF >= _INFINITY - 1
    return _float(np.where(special, limit, result))
