"""What arithmetic without subnormals must give, written from the definition in docs/float.md.

A subnormal operand is a zero of its sign. A result is rounded to the precision as if its exponent had no
least value, and is a zero of its sign where it is then below the smallest normal number.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache

import numpy as np

from allo.backend.rtl.float.formats import FloatFormat

from . import soft
from .vectors import operand_pairs, specials


def flushed(bits: int, kind: FloatFormat) -> int:
    """The operand that counts."""
    return bits if bits >> kind.fraction & kind.top_exponent else bits & 1 << kind.width - 1


@cache
def encode(value: Fraction, kind: FloatFormat, zero_sign: int = 0) -> int:
    """The result for an exact value; ``zero_sign`` is the sign of an exact zero."""
    sign = int(value < 0) << (kind.width - 1)
    if not value:
        return zero_sign << (kind.width - 1)
    size, power = abs(value), 0
    top, bottom = size.numerator.bit_length(), size.denominator.bit_length()
    power = top - bottom
    size /= Fraction(2) ** power
    while size < 1:
        size, power = size * 2, power - 1
    units = size * (1 << kind.fraction)
    whole = units.numerator // units.denominator
    rest = units - whole
    whole += rest > Fraction(1, 2) or (rest == Fraction(1, 2) and whole % 2 == 1)
    if whole == 2 << kind.fraction:
        whole, power = whole // 2, power + 1
    field = power + kind.bias
    if field <= 0:
        return sign
    if field >= kind.top_exponent:
        return sign | kind.infinity
    return sign | field << kind.fraction | whole - (1 << kind.fraction)


def expected(model: Callable[..., int], kind: FloatFormat, *operands: np.ndarray) -> np.ndarray:
    """What a model of :mod:`.soft` gives for flushed operands and with results as :func:`encode` has them."""
    before, soft.encode = soft.encode, encode
    try:
        rows = zip(*(column.tolist() for column in operands), strict=True)
        found = [model(*(flushed(bits, kind) for bits in row), kind) for row in rows]
    finally:
        soft.encode = before
    return np.array(found, dtype=np.uint64)


def tiny_pairs(kind: FloatFormat, count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Pairs near the smallest normal number, as are their products and quotients; all pairs of specials.

    Among them are products and quotients that round up to it only where the exponent has a least value.
    """
    rng = np.random.default_rng(seed)
    a, b = operand_pairs(kind, count, rng)
    full = np.array([(1 << kind.width - 1) - 1, (1 << kind.width) - 1], dtype=np.uint64)
    every = np.concatenate([specials(kind), full])
    grid = np.meshgrid(every, every)
    near = rng.integers(0, 4, (2, count)).astype(np.uint64) << np.uint64(kind.fraction)
    near |= rng.integers(0, 1 << kind.fraction, (2, count), dtype=np.uint64)
    near |= rng.integers(0, 2, (2, count)).astype(np.uint64) << np.uint64(kind.width - 1)
    first, second = _products_in_the_band(kind, count // 4, rng)
    ones = np.uint64((1 << kind.fraction) - 1)
    last = np.arange(1, kind.top_exponent - kind.bias, dtype=np.uint64) << np.uint64(kind.fraction)
    by = last + np.uint64(kind.bias << kind.fraction)
    left = [grid[0].ravel(), near[0], first, last | ones, a]
    right = [grid[1].ravel(), near[1], second, by, b]
    return np.concatenate(left), np.concatenate(right)


def _products_in_the_band(
    kind: FloatFormat, count: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Factors whose product is less than the smallest normal number by about half a unit of subnormals."""
    left, right = [], []
    size = 1 << kind.fraction
    for value in rng.integers(1, size, count).tolist():
        a = size + value
        b = (2 * size * size - size // int(rng.integers(1, 4))) // a + int(rng.integers(-1, 2))
        if not size <= b < 2 * size:
            continue
        field = int(rng.integers(1, kind.bias))
        left.append(field << kind.fraction | value)
        right.append((kind.bias - field) << kind.fraction | b - size)
    for first, second in _factors_of_the_bound(kind):
        for field in range(1, kind.bias, max(1, kind.bias // 40)):
            left.append(_pattern(first, field, kind))
            right.append(_pattern(second, kind.bias - field, kind))
    return np.array(left, dtype=np.uint64), np.array(right, dtype=np.uint64)


def _factors_of_the_bound(kind: FloatFormat) -> list[tuple[int, int]]:
    """Significands whose product is exactly the least one that rounds up to the smallest normal number."""
    bound = (1 << kind.precision + 1) - 1
    found = [n for n in range(3, 1000, 2) if bound % n == 0]
    return [(n, bound // n) for n in found if bound // n < 1 << kind.precision]


def _pattern(significand: int, field: int, kind: FloatFormat) -> int:
    """A number of this exponent field, from an integer that is normalised."""
    shift = kind.precision - significand.bit_length()
    return field << kind.fraction | (significand << shift) - (1 << kind.fraction)
