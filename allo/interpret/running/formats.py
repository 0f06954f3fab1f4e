"""The float formats and rounding to them: nearest, ties to even, subnormals, infinities.

A value of any format is held as a Python float, which holds every value of every format exactly.
A sum, product, quotient or square root of two values of float16, bfloat16 or float32 is computed
in binary64 and rounded again here: 53 bits are more than twice 24 plus two, so that the second
rounding gives what one rounding of the exact result gives (Figueroa, 1995); the tests hold it
against exact fractions. A NaN has neither sign nor payload.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from allo.dialects.types import Float

INF = math.inf
NAN = math.nan


@dataclass(frozen=True)
class Format:
    """A binary format.

    Attributes:
        name: the textual name of the type.
        bits: width of the encoding.
        precision: bits of the significand, the hidden one included.
        emin: exponent of the smallest normal number.
        emax: exponent of the largest number.
    """

    name: str
    bits: int
    precision: int
    emin: int
    emax: int

    @property
    def quantum(self) -> int:
        """The exponent of the smallest subnormal number."""
        return self.emin - self.precision + 1

    @property
    def largest(self) -> float:
        """The greatest finite number."""
        return math.ldexp((1 << self.precision) - 1, self.emax - self.precision + 1)


FORMATS = {
    "f16": Format("f16", 16, 11, -14, 15),
    "bf16": Format("bf16", 16, 8, -126, 127),
    "f32": Format("f32", 32, 24, -126, 127),
    "f64": Format("f64", 64, 53, -1022, 1023),
}


def format_of(dtype: Float) -> Format:
    """The format of a float type."""
    return FORMATS[dtype.name]


def _rounder(form: Format) -> Callable[[float], float]:
    precision, quantum, largest = form.precision, form.quantum, form.largest
    highest = form.emax - precision + 1
    frexp, ldexp, copysign = math.frexp, math.ldexp, math.copysign

    def rounded(x: float) -> float:
        if x == 0.0 or x - x != 0.0:
            return x
        unit = frexp(x)[1] - precision
        if unit < quantum:
            unit = quantum
        if unit > highest:
            return copysign(INF, x)
        result = ldexp(round(ldexp(x, -unit)), unit)
        if result > largest or result < -largest:
            return copysign(INF, x)
        return copysign(result, x)

    return rounded


ROUND: dict[str, Callable[[float], float]] = {
    name: _rounder(form) for name, form in FORMATS.items() if name != "f64"
}
"""Rounds a binary64 number to a narrower format."""


def round_fraction(numerator: int, denominator: int, form: Format) -> float:
    """The number of the format nearest to a fraction; the denominator is positive."""
    if numerator == 0:
        return 0.0
    size = abs(numerator)
    exponent = size.bit_length() - denominator.bit_length()
    below = size < denominator << exponent if exponent >= 0 else size << -exponent < denominator
    if below:
        exponent -= 1
    unit = max(exponent - form.precision + 1, form.quantum)
    if unit >= 0:
        count, rest = divmod(size, denominator << unit)
        half = denominator << unit
    else:
        count, rest = divmod(size << -unit, denominator)
        half = denominator
    if 2 * rest > half or (2 * rest == half and count & 1):
        count += 1
    sign = -1.0 if numerator < 0 else 1.0
    if count.bit_length() + unit - 1 > form.emax:
        return sign * INF
    return sign * math.ldexp(count, unit)


def round_exact(value: int | Fraction | float, form: Format) -> float:
    """An exact number, or a special value given as a float, in the format."""
    if isinstance(value, float):
        return value if form.name == "f64" else ROUND[form.name](value)
    if isinstance(value, int):
        return round_fraction(value, 1, form)
    return round_fraction(value.numerator, value.denominator, form)


def encode(x: float, form: Format) -> int:
    """The bits of a number; a NaN gives the format's canonical quiet NaN."""
    fraction_bits = form.precision - 1
    field_max = (1 << (form.bits - 1 - fraction_bits)) - 1
    if x != x:
        return field_max << fraction_bits | 1 << (fraction_bits - 1)
    sign = int(math.copysign(1.0, x) < 0) << (form.bits - 1)
    if x in (INF, -INF):
        return sign | field_max << fraction_bits
    if x == 0.0:
        return sign
    exponent = max(math.frexp(x)[1] - 1, form.emin)
    count = int(math.ldexp(abs(x), fraction_bits - exponent))
    field = exponent - form.emin + 1 if count >> fraction_bits else 0
    return sign | field << fraction_bits | (count & ((1 << fraction_bits) - 1))


def decode(bits: int, form: Format) -> float:
    """The number that the bits stand for."""
    fraction_bits = form.precision - 1
    field_max = (1 << (form.bits - 1 - fraction_bits)) - 1
    sign = -1.0 if bits >> (form.bits - 1) & 1 else 1.0
    field = bits >> fraction_bits & field_max
    count = bits & ((1 << fraction_bits) - 1)
    if field == field_max:
        return NAN if count else sign * INF
    if field:
        count |= 1 << fraction_bits
    return sign * math.ldexp(count, max(field, 1) - 1 + form.quantum)


def divide(x: float, y: float) -> float:
    """x / y as IEEE-754 has it, in binary64."""
    if y != 0.0:
        return x / y
    if x == 0.0 or x != x:
        return NAN
    return math.copysign(INF, x) * math.copysign(1.0, y)


def remainder(x: float, y: float) -> float:
    """C's fmod: exact, with the sign of x."""
    if x != x or y != y or y == 0.0 or x in (INF, -INF):
        return NAN
    return math.fmod(x, y)


def smallest(x: float, y: float) -> float:
    """The smaller; NaN where one is NaN, and -0 below +0."""
    if x != x or y != y:
        return NAN
    if x == y == 0.0:
        return x if math.copysign(1.0, x) < 0 else y
    return x if x < y else y


def largest(x: float, y: float) -> float:
    """The larger; NaN where one is NaN, and -0 below +0."""
    if x != x or y != y:
        return NAN
    if x == y == 0.0:
        return y if math.copysign(1.0, x) < 0 else x
    return x if x > y else y


def square_root(x: float) -> float:
    """The square root; NaN below zero."""
    if x != x or x < 0.0:
        return NAN
    return math.sqrt(x)


def floor(x: float) -> float:
    """The largest whole number that is not above x."""
    if x - x != 0.0 or x == 0.0:
        return x
    return math.copysign(float(math.floor(x)), x)
