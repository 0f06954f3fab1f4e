"""IEEE-754 arithmetic of any format on exact fractions: the model the units are held to."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from math import isqrt

from allo.backend.rtl.float.formats import FloatFormat


def is_nan(bits: int, kind: FloatFormat) -> bool:
    """Whether the bits are a NaN."""
    return (bits & (1 << kind.width - 1) - 1) > kind.infinity


def is_infinite(bits: int, kind: FloatFormat) -> bool:
    """Whether the bits are an infinity."""
    return (bits & (1 << kind.width - 1) - 1) == kind.infinity


def sign_of(bits: int, kind: FloatFormat) -> int:
    """The sign bit."""
    return bits >> (kind.width - 1)


@cache
def decode(bits: int, kind: FloatFormat) -> Fraction:
    """The number a finite pattern stands for."""
    field = bits >> kind.fraction & kind.top_exponent
    fraction = bits & (1 << kind.fraction) - 1
    if field:
        fraction |= 1 << kind.fraction
    power = max(field, 1) - kind.bias - kind.fraction
    value = Fraction(fraction << power) if power >= 0 else Fraction(fraction, 1 << -power)
    return -value if sign_of(bits, kind) else value


def to_float(bits: int, kind: FloatFormat) -> float:
    """The value as a Python float, which must hold it."""
    if is_nan(bits, kind):
        return float("nan")
    if is_infinite(bits, kind):
        return float("-inf") if sign_of(bits, kind) else float("inf")
    size = float(abs(decode(bits, kind)))
    return -size if sign_of(bits, kind) else size


@cache
def encode(value: Fraction, kind: FloatFormat, zero_sign: int = 0) -> int:
    """The nearest pattern, ties to even; ``zero_sign`` is the sign of an exact zero."""
    if value == 0:
        return zero_sign << (kind.width - 1)
    sign = int(value < 0) << (kind.width - 1)
    top, bottom = abs(value.numerator), value.denominator
    power = top.bit_length() - bottom.bit_length()
    if top << max(0, -power) < bottom << max(0, power):
        power -= 1
    power = max(power, 1 - kind.bias)
    shift = power - kind.fraction
    top, bottom = top << max(0, -shift), bottom << max(0, shift)
    whole, rest = divmod(top, bottom)
    whole += 2 * rest > bottom or (2 * rest == bottom and whole & 1)
    magnitude = whole + ((power + kind.bias - 1) << kind.fraction)
    return sign | min(magnitude, kind.infinity)


def add(a: int, b: int, kind: FloatFormat) -> int:
    """``a + b``."""
    if is_nan(a, kind) or is_nan(b, kind):
        return kind.nan
    if is_infinite(a, kind) or is_infinite(b, kind):
        both = is_infinite(a, kind) and is_infinite(b, kind)
        if both and a != b:
            return kind.nan
        return a if is_infinite(a, kind) else b
    zero_sign = sign_of(a, kind) & sign_of(b, kind)
    return encode(decode(a, kind) + decode(b, kind), kind, zero_sign)


def subtract(a: int, b: int, kind: FloatFormat) -> int:
    """``a - b``."""
    return add(a, b ^ 1 << (kind.width - 1), kind)


def multiply(a: int, b: int, kind: FloatFormat) -> int:
    """``a * b``."""
    sign = sign_of(a, kind) ^ sign_of(b, kind)
    if is_nan(a, kind) or is_nan(b, kind):
        return kind.nan
    if is_infinite(a, kind) or is_infinite(b, kind):
        other = b if is_infinite(a, kind) else a
        zero = not is_infinite(other, kind) and decode(other, kind) == 0
        return kind.nan if zero else kind.infinity | sign << (kind.width - 1)
    return encode(decode(a, kind) * decode(b, kind), kind, sign)


def divide(a: int, b: int, kind: FloatFormat) -> int:
    """``a / b``."""
    sign = sign_of(a, kind) ^ sign_of(b, kind)
    if is_nan(a, kind) or is_nan(b, kind):
        return kind.nan
    if is_infinite(a, kind):
        return kind.nan if is_infinite(b, kind) else kind.infinity | sign << (kind.width - 1)
    if is_infinite(b, kind):
        return sign << (kind.width - 1)
    if decode(b, kind) == 0:
        return kind.nan if decode(a, kind) == 0 else kind.infinity | sign << (kind.width - 1)
    return encode(decode(a, kind) / decode(b, kind), kind, sign)


def square_root(a: int, kind: FloatFormat) -> int:
    """The square root, rounded from enough bits and a sticky bit."""
    if is_nan(a, kind):
        return kind.nan
    if not is_infinite(a, kind) and decode(a, kind) == 0:
        return a
    if sign_of(a, kind):
        return kind.nan
    if is_infinite(a, kind):
        return a
    scale = 4 ** (kind.bias + 2 * kind.precision + 2)
    scaled = decode(a, kind) * scale
    root = isqrt(int(scaled))
    sticky = Fraction(0) if root * root == scaled else Fraction(1, 2)
    return encode((root + sticky) / Fraction(isqrt(scale)), kind)


def remainder(a: int, b: int, kind: FloatFormat) -> int:
    """The remainder of truncating division."""
    if is_nan(a, kind) or is_nan(b, kind) or is_infinite(a, kind):
        return kind.nan
    if is_infinite(b, kind):
        return a
    if decode(b, kind) == 0:
        return kind.nan
    left, right = decode(a, kind), abs(decode(b, kind))
    rest = abs(left) % right
    return encode(-rest if left < 0 else rest, kind, sign_of(a, kind))


def round_to_integral(mode: str, a: int, kind: FloatFormat) -> int:
    """floor, ceil, trunc, round (ties away from zero) or roundeven."""
    if is_nan(a, kind):
        return kind.nan
    if is_infinite(a, kind):
        return a
    exact = decode(a, kind)
    whole = {
        "floor": exact.__floor__,
        "ceil": exact.__ceil__,
        "trunc": exact.__trunc__,
        "round": lambda: int(abs(exact) + Fraction(1, 2)) * (-1 if exact < 0 else 1),
        "roundeven": lambda: round(exact),
    }[mode]()
    return encode(Fraction(whole), kind, sign_of(a, kind))


def convert(a: int, source: FloatFormat, target: FloatFormat) -> int:
    """``a`` in another format."""
    sign = sign_of(a, source) << (target.width - 1)
    if is_nan(a, source):
        return target.nan
    if is_infinite(a, source):
        return sign | target.infinity
    return encode(decode(a, source), target, sign_of(a, source))


def to_integer(a: int, kind: FloatFormat, width: int, *, signed: bool) -> int:
    """Truncated, saturated, NaN as 0, as a bit vector."""
    low, high = (-(1 << width - 1), (1 << width - 1) - 1) if signed else (0, (1 << width) - 1)
    if is_nan(a, kind):
        return 0
    if is_infinite(a, kind):
        value = low if sign_of(a, kind) else high
    else:
        exact = decode(a, kind)
        value = min(max(int(exact), low), high)
    return value & (1 << width) - 1


def compare(predicate: str, a: int, b: int, kind: FloatFormat) -> int:
    """The bit of ``arith.cmpf``."""
    if predicate in ("true", "false"):
        return int(predicate == "true")
    unordered = is_nan(a, kind) or is_nan(b, kind)
    if predicate in ("ord", "uno") or unordered:
        return int(unordered if predicate[0] == "u" else not unordered)
    left, right = _rank(a, kind), _rank(b, kind)
    holds = {
        "eq": left == right,
        "ne": left != right,
        "lt": left < right,
        "le": left <= right,
        "gt": left > right,
        "ge": left >= right,
    }
    return int(holds[predicate[1:]])


def _rank(bits: int, kind: FloatFormat) -> int:
    magnitude = bits & (1 << kind.width - 1) - 1
    return -magnitude if sign_of(bits, kind) else magnitude


def extremum(name: str, a: int, b: int, kind: FloatFormat) -> int:
    """``minimumf``, ``maximumf``, ``minnumf`` or ``maxnumf``, -0 below +0."""
    if is_nan(a, kind) or is_nan(b, kind):
        if name.endswith("imumf") or (is_nan(a, kind) and is_nan(b, kind)):
            return kind.nan
        return b if is_nan(a, kind) else a
    order = [(_rank(x, kind), -sign_of(x, kind), x) for x in (a, b)]
    return (min(order) if name.startswith("min") else max(order))[2]


ARITHMETIC = {
    "arith.addf": add,
    "arith.subf": subtract,
    "arith.mulf": multiply,
    "arith.divf": divide,
    "arith.remf": remainder,
}
"""The models of the operations on two operands of one format."""
