"""exp, log, sin and the like, rounded correctly from arithmetic of high precision.

An argument is an exact number. A function is computed to more and more digits until both ends of
the error interval round to one number of the format.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal
from fractions import Fraction
from typing import Any

from .formats import FORMATS, INF, NAN, ROUND, Format, round_fraction, square_root

_START, _END = 40, 640
"""Decimal digits: at first, and where the function is taken to be exact."""


def _context(digits: int) -> Context:
    return Context(prec=digits, Emax=MAX_EMAX, Emin=MIN_EMIN)


def _rounded(compute: Callable[[int], Decimal | Fraction], form: Format) -> float:
    """The nearest number of the format to what ``compute(digits)`` approaches: its relative
    error must lie below 10**(3 - digits)."""
    digits = _START
    while True:
        value = Fraction(compute(digits))
        slack = abs(value) / 10 ** (digits - 4)
        low, high = value - slack, value + slack
        first = round_fraction(low.numerator, low.denominator, form)
        last = round_fraction(high.numerator, high.denominator, form)
        if first == last or digits >= _END:
            return round_fraction(value.numerator, value.denominator, form)
        digits *= 2


def _exp(x: float, form: Format) -> float:
    if x != x:
        return NAN
    if x == INF or x > 800:
        return INF
    if x < -800:
        return 0.0
    if x == 0.0:
        return 1.0
    return _rounded(lambda digits: _context(digits).exp(Decimal(x)), form)


def _logarithm(base: int) -> Callable[[float, Format], float]:
    def logarithm(x: float, form: Format) -> float:
        if x != x or x < 0.0:
            return NAN
        if x == 0.0:
            return -INF
        if x == INF:
            return INF
        if x == 1.0:
            return 0.0
        mantissa, exponent = math.frexp(x)
        if base == 2 and mantissa == 0.5:
            return float(exponent - 1)

        def compute(digits: int) -> Decimal:
            context = _context(digits + 5)
            value = context.ln(Decimal(x))
            return value if base == 0 else context.divide(value, context.ln(Decimal(base)))

        return _rounded(compute, form)

    return logarithm


@functools.cache
def _pi(bits: int) -> int:
    """pi times 2**bits, to within a few units (Machin's formula)."""

    def arctan_inverse(n: int) -> int:
        term = (1 << (bits + 16)) // n
        total, k, square = term, 1, n * n
        while term:
            term //= -square
            total += term // (2 * k + 1)
            k += 1
        return total

    return (16 * arctan_inverse(5) - 4 * arctan_inverse(239)) >> 16


def _reduced(x: float, bits: int) -> tuple[int, int]:
    """The quadrant of x, and the rest in [-pi/4, pi/4] times 2**bits."""
    exact = Fraction(x)
    more = bits + max(math.frexp(x)[1], 0) + 8
    scaled = (exact.numerator << more) // exact.denominator
    half_pi = _pi(more) >> 1
    quadrant = (2 * scaled + half_pi) // (2 * half_pi)
    return quadrant & 3, (scaled - quadrant * half_pi) >> (more - bits)


def _sine_cosine(r: int, bits: int) -> tuple[int, int]:
    """sin and cos of r / 2**bits, times 2**bits."""
    square = r * r >> bits
    sine, cosine = r, 1 << bits
    term, k = r, 1
    while term:
        term = -(term * square >> bits) // ((k + 1) * (k + 2))
        sine += term
        k += 2
        if abs(term) <= 1:
            break
    term, k = 1 << bits, 0
    while term:
        term = -(term * square >> bits) // ((k + 1) * (k + 2))
        cosine += term
        k += 2
        if abs(term) <= 1:
            break
    return sine, cosine


def _circular(name: str) -> Callable[[float, Format], float]:
    def circular(x: float, form: Format) -> float:
        if x - x != 0.0:
            return NAN
        if x == 0.0:
            return 1.0 if name == "cos" else x

        def compute(digits: int) -> Fraction:
            # 80 bits more: the rest may lie as near as 2**-70 to a multiple of pi/2.
            bits = 4 * digits + 80 + max(-math.frexp(x)[1], 0)
            quadrant, rest = _reduced(x, bits)
            sine, cosine = _sine_cosine(rest, bits)
            sines = (sine, cosine, -sine, -cosine)
            if name == "sin":
                return Fraction(sines[quadrant], 1 << bits)
            if name == "cos":
                return Fraction(sines[(quadrant + 1) & 3], 1 << bits)
            return Fraction(sines[quadrant], sines[(quadrant + 1) & 3])

        return _rounded(compute, form)

    return circular


def _tanh(x: float, form: Format) -> float:
    if x != x:
        return NAN
    if x == 0.0:
        return x
    if abs(x) > 40:
        return math.copysign(1.0, x)

    def compute(digits: int) -> Fraction:
        more = digits + 2 * max(-math.frexp(x)[1], 0) + 10
        power = Fraction(_context(more).exp(2 * Decimal(abs(x))))
        value = (power - 1) / (power + 1)
        return value if x > 0 else -value

    return _rounded(compute, form)


def _erf(x: float, form: Format) -> float:
    if x != x:
        return NAN
    if x == 0.0:
        return x
    if abs(x) > 9:
        return math.copysign(1.0, x)

    def compute(digits: int) -> Fraction:
        bits = 4 * digits + 160 + max(-math.frexp(x)[1], 0)
        exact = Fraction(abs(x))
        scaled = (exact.numerator << bits) // exact.denominator
        square = scaled * scaled >> bits
        term, total, k = scaled, scaled, 0
        while term:
            k += 1
            term = -(term * square >> bits) // k
            total += term // (2 * k + 1)
            if abs(term) <= 1:
                break
        root = math.isqrt(_pi(2 * bits) // 1)
        value = Fraction(2 * total, root)
        return value if x > 0 else -value

    return _rounded(compute, form)


def _rsqrt(x: float, form: Format) -> float:
    if x != x or x < 0.0:
        return NAN
    if x == 0.0:
        return math.copysign(INF, x)
    if x == INF:
        return 0.0

    def compute(digits: int) -> Decimal:
        context = _context(digits + 5)
        return context.divide(Decimal(1), context.sqrt(Decimal(x)))

    return _rounded(compute, form)


def power(x: float, y: float, form: Format) -> float:
    """x to the power y, with the special cases of C99."""
    if y == 0.0 or x == 1.0:
        return 1.0
    if x != x or y != y:
        return NAN
    odd = y - y == 0.0 and y == math.floor(y) and int(y) & 1 == 1
    negative = math.copysign(1.0, x) < 0
    sign = -1.0 if negative and odd else 1.0
    if y in (INF, -INF):
        if abs(x) == 1.0:
            return 1.0
        return INF if (abs(x) > 1) == (y > 0) else 0.0
    if x in (INF, -INF):
        return sign * INF if y > 0 else sign * 0.0
    if x == 0.0:
        return sign * 0.0 if y > 0 else sign * INF
    if negative and y != math.floor(y):
        return NAN
    size = abs(x)
    estimate = y * math.log2(size)
    if estimate > 1100 or estimate < -1200:
        return sign * INF if estimate > 0 else sign * 0.0
    if y == int(y) and abs(y) <= 64:
        exact = Fraction(size) ** int(y)
        return sign * round_fraction(exact.numerator, exact.denominator, form)

    def compute(digits: int) -> Decimal:
        context = _context(digits + 20)
        return context.exp(context.multiply(Decimal(y), context.ln(Decimal(size))))

    return sign * _rounded(compute, form)


_UNARY: dict[str, Callable[[float, Format], float]] = {
    "exp": _exp,
    "log": _logarithm(0),
    "log2": _logarithm(2),
    "log10": _logarithm(10),
    "sin": _circular("sin"),
    "cos": _circular("cos"),
    "tan": _circular("tan"),
    "tanh": _tanh,
    "erf": _erf,
    "rsqrt": _rsqrt,
}
UNARY = tuple(_UNARY)


def apply(name: str, x: float, form: Format) -> float:
    """A function of one argument, rounded to a format."""
    return _UNARY[name](x, form)


def functions() -> dict[str, Any]:
    """The functions by the names of the translated text: ``exp_f32``, ``power_f64``, ``sqrt_f16``."""
    found: dict[str, Any] = {}
    for format_name, form in FORMATS.items():
        for name, function in _UNARY.items():
            found[f"{name}_{format_name}"] = functools.partial(_call, function, form)
        found[f"power_{format_name}"] = functools.partial(_call_power, form)
        found[f"sqrt_{format_name}"] = _square_root(format_name)
    return found


def _call(function: Callable[[float, Format], float], form: Format, x: float) -> float:
    return function(x, form)


def _call_power(form: Format, x: float, y: float) -> float:
    return power(x, y, form)


def _square_root(format_name: str) -> Callable[[float], float]:
    if format_name == "f64":
        return square_root
    rounded = ROUND[format_name]
    return lambda x: rounded(square_root(x))
