"""Error of float32 functions against a reference of much higher precision."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

EXTENDED = np.longdouble
"""On this host an 80-bit float: 40 bits more than float32 has."""


@dataclass(frozen=True)
class Errors:
    """Largest error in units of the last place of the exact result, and where; wrong specials."""

    ulp: float
    at: tuple[float, ...]
    wrong: int
    example: str


def ulp_of(exact: np.ndarray, kind: type[np.floating]) -> np.ndarray:
    """Spacing of the format at the exact values, subnormals included."""
    info = np.finfo(kind)
    size = np.maximum(np.abs(exact.astype(EXTENDED)), EXTENDED(info.smallest_normal))
    _, exponent = np.frexp(size)
    return np.ldexp(EXTENDED(1), exponent - 1 - info.nmant)


def measure(found: np.ndarray, exact: np.ndarray, *operands: np.ndarray) -> Errors:
    """Compare all elements: finite results by distance, the others by equality with sign."""
    kind = found.dtype.type
    limit = EXTENDED(np.finfo(kind).max)
    with np.errstate(all="ignore"):
        rounded = exact.astype(kind)
        regular = np.isfinite(rounded) & np.isfinite(exact)
        distance = np.abs(found.astype(EXTENDED) - exact.astype(EXTENDED)) / ulp_of(exact, kind)
        near_limit = (
            ~np.isfinite(rounded) & np.isfinite(exact) & (np.abs(exact) < limit * 1.0000001)
        )
    error = np.where(regular, distance, 0)
    error = np.where(regular & ~np.isfinite(found), np.inf, error)
    same = (found == rounded) & (np.signbit(found) == np.signbit(rounded))
    same |= np.isnan(found) & np.isnan(rounded)
    wrong = ~regular & ~same & ~near_limit
    wrong |= (found == 0) & (rounded == 0) & (np.signbit(found) != np.signbit(rounded))
    worst = int(np.argmax(error))
    first = np.flatnonzero(wrong)[:3]
    example = "; ".join(
        f"f{tuple(float(x[i]) for x in operands)} = {found[i]}, exact {exact[i]}" for i in first
    )
    return Errors(
        float(error[worst]), tuple(float(x[worst]) for x in operands), int(wrong.sum()), example
    )
