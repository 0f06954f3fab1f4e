"""Sums of floats by fractions, and terms that are hard to add up."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import ml_dtypes
import numpy as np


@dataclass(frozen=True)
class Kind:
    """A float type of NumPy, the unsigned one of its bits, and the bits of its fraction."""

    dtype: np.dtype
    bits: type
    fraction: int

    @property
    def infinity(self) -> int:
        """Its bits."""
        exponent = self.dtype.itemsize * 8 - 1 - self.fraction
        return ((1 << exponent) - 1) << self.fraction


KINDS = {
    "f16": Kind(np.dtype(np.float16), np.uint16, 10),
    "bf16": Kind(np.dtype(ml_dtypes.bfloat16), np.uint16, 7),
    "f32": Kind(np.dtype(np.float32), np.uint32, 23),
    "f64": Kind(np.dtype(np.float64), np.uint64, 52),
}


def _value(kind: Kind, bits: int) -> Fraction:
    return Fraction(float(np.array([bits], kind.bits).view(kind.dtype)[0]))


def nearest(kind: Kind, exact: Fraction) -> int:
    """The bits of the float nearest to a positive number, the even one of two; infinity in its place."""
    low, high = 0, kind.infinity
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if _value(kind, middle) <= exact else (low, middle)
    below = _value(kind, low)
    step = below - _value(kind, low - 1) if high == kind.infinity else _value(kind, high) - below
    twice = 2 * (exact - below)
    return high if twice > step or (twice == step and low % 2) else low


def expected(kind: Kind, terms: np.ndarray) -> int:
    """The bits of the sum of some terms, rounded once."""
    values = terms.astype(np.float64)
    top = 1 << (kind.dtype.itemsize * 8 - 1)
    plus, minus = bool(np.isposinf(values).any()), bool(np.isneginf(values).any())
    if np.isnan(values).any() or (plus and minus):
        return kind.infinity | 1 << (kind.fraction - 1)
    if plus or minus:
        return kind.infinity | top * minus
    total = sum((Fraction(float(v)) for v in values), Fraction(0))
    if total == 0:
        return top if np.signbit(values).all() else 0
    return nearest(kind, abs(total)) | top * (total < 0)


def hard_rows(kind: Kind, columns: int, seed: int) -> Iterator[np.ndarray]:
    """Rows of terms: all exponents, cancellation, ties, subnormals, overflow on the way, special values."""
    rng = np.random.default_rng(seed)
    width = kind.dtype.itemsize * 8
    top, one = 1 << (width - 1), 1 << kind.fraction

    def row(bits: np.ndarray | list[int]) -> np.ndarray:
        made = np.zeros(columns, kind.bits)
        made[: len(bits)] = np.array([int(b) for b in bits], kind.bits)
        return made.view(kind.dtype)

    def finite(count: int) -> np.ndarray:
        signs = rng.integers(0, 2, count).astype(kind.bits) << np.array(width - 1, kind.bits)
        return rng.integers(0, kind.infinity, count, dtype=kind.bits) | signs

    for _ in range(6):
        yield row(finite(columns))
        near = rng.integers(kind.infinity // 2 - 3 * one, kind.infinity // 2 + 3 * one, columns)
        yield row(near ^ (rng.integers(0, 2, columns) * top if width < 64 else 0))
        half = finite(columns // 2)
        both = np.concatenate([half, half ^ np.array(top, kind.bits)])
        rng.shuffle(both)
        both[rng.integers(columns)] = finite(1)[0]
        yield row(both)
        yield row(rng.integers(0, 2 * one, columns))
        yield row(rng.integers(0, 3, columns))
    middle = kind.infinity // 2 // one * one
    ulp = (kind.fraction + 1) * one
    for last in (0, 1, 2, 3):
        for more in (0, 1, top | 1):
            yield row([middle | last, middle - ulp, more])
            yield row([top | middle | last, top | (middle - ulp), more])
    largest = kind.infinity - 1
    yield row([largest] * (columns // 2) + [top | largest] * (columns // 2))
    yield row([largest, largest])
    yield row([top | largest, top | largest])
    yield row([largest, largest - ulp])
    yield row([largest, largest - ulp - 1])
    yield row([top] * columns)
    yield row([0] * columns)
    yield row([1, top | 1])
    yield row([kind.infinity, 1])
    yield row([top | kind.infinity, largest])
    yield row([kind.infinity, top | kind.infinity])
    yield row([kind.infinity | 1])
    yield row([top | kind.infinity | one // 2, kind.infinity])
