"""Integers in place of real factors: a multiplier, and a shift that all channels of a layer share."""

from __future__ import annotations

from math import frexp
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def multipliers(ratios: Array, bound: int) -> tuple[Array, int]:
    """``ratio ≈ multiplier / 2 ** shift``, with one shift for all.

    Args:
        ratios: what a sum is multiplied by, positive or negative.
        bound: the largest magnitude of a sum.
    """
    bits = min(23, 61 - int(bound).bit_length())
    _, exponent = frexp(float(np.abs(ratios).max()))
    shift = min(max(bits - exponent, 1), 62)
    return np.rint(np.asarray(ratios, np.float64) * 2.0**shift).astype(np.int32), shift


def sum_type(bound: int) -> str:
    """The type of accumulators whose magnitude stays within ``bound``."""
    return "int32" if bound < 1 << 31 else "int64"
