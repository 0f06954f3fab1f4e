"""Operands that reach the corners of float units."""

from __future__ import annotations

import numpy as np

from allo.backend.rtl.float.formats import FloatFormat

HOST = {"f16": np.float16, "f32": np.float32, "f64": np.float64}


def specials(kind: FloatFormat) -> np.ndarray:
    """Zeros, ones, infinities, NaN, the ends of the subnormal and normal ranges, both signs."""
    one = kind.bias << kind.fraction
    half = 1 << kind.fraction
    positive = [0, 1, 2, half - 1, half, half + 1, one - 1, one, one + 1, one + half]
    positive += [kind.largest - 1, kind.largest, kind.infinity, kind.nan, kind.nan | 1]
    signs = [bits | 1 << kind.width - 1 for bits in positive]
    return np.array(positive + signs, dtype=np.uint64)


def operand_pairs(
    kind: FloatFormat, count: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """About ``count`` pairs: random bits, all pairs of specials, subnormals, near equal values
    (cancellation), exponents that differ by about the precision (ties), and products and quotients
    near the ends of the range."""
    special = specials(kind)
    grid = np.meshgrid(special, special)
    parts = [(grid[0].ravel(), grid[1].ravel())]
    share = max(1, count // 6)
    top, fraction = kind.top_exponent, kind.fraction

    def random(n: int) -> np.ndarray:
        return rng.integers(0, 1 << kind.width, n, dtype=np.uint64)

    def with_exponent(bits: np.ndarray, field: np.ndarray) -> np.ndarray:
        keep = np.uint64((1 << kind.width) - 1 ^ (top << fraction))
        limited = np.clip(field, 0, top).astype(np.uint64)
        return bits & keep | limited << np.uint64(fraction)

    def sparse(bits: np.ndarray) -> np.ndarray:
        """Fractions with few bits set at the bottom, which make ties likely."""
        low = rng.integers(0, fraction + 1, len(bits)).astype(np.uint64)
        keep = ~((np.uint64(1) << low) - np.uint64(1)) | np.uint64(1 << kind.width - 1)
        return bits & keep

    parts.append((random(share), random(share)))
    tiny = with_exponent(random(share), rng.integers(0, 3, share))
    parts.append((tiny, random(share)))
    a = random(share)
    near = a ^ np.uint64(1 << kind.width - 1)
    near = near + rng.integers(0, 7, share).astype(np.uint64) - np.uint64(3)
    parts.append((a, near & np.uint64((1 << kind.width) - 1)))
    middle = rng.integers(0, top, share)
    apart = middle + rng.integers(-fraction - 5, fraction + 6, share)
    parts.append(
        (sparse(with_exponent(random(share), middle)), with_exponent(random(share), apart))
    )
    first = rng.integers(1, top, share)
    edge = np.where(rng.random(share) < 0.5, kind.bias, 2 * top - kind.bias - 2)
    spread = rng.integers(-fraction - 3, 4, share)
    parts.append(
        (
            sparse(with_exponent(random(share), first)),
            sparse(with_exponent(random(share), edge - first + spread)),
        )
    )
    quotient = with_exponent(random(share), first - kind.bias + spread + edge - kind.bias)
    parts.append((sparse(with_exponent(random(share), first)), quotient))
    return (np.concatenate([p[0] for p in parts]), np.concatenate([p[1] for p in parts]))


def to_host(bits: np.ndarray, kind: FloatFormat) -> np.ndarray:
    """Bit patterns as NumPy floats."""
    return bits.astype(f"u{kind.width // 8}").view(HOST[kind.name])


def from_host(values: np.ndarray, kind: FloatFormat) -> np.ndarray:
    """NumPy floats as bit patterns, NaN canonical."""
    bits = np.asarray(values, dtype=HOST[kind.name]).view(f"u{kind.width // 8}").astype(np.uint64)
    bits[np.isnan(values)] = kind.nan
    return bits
