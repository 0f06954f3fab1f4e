"""Fixed point as TFLite's kernels compute it (gemmlowp's), on int64 arrays that hold int32.

Each function is written as its definition says, with a nudge and a division that rounds towards zero;
the kernels have the same results by shifts.
"""

from __future__ import annotations

import numpy as np

from allo.models.integers.arithmetic import Array

LEAST, MOST = -(1 << 31), (1 << 31) - 1


def wrapped(x: Array) -> Array:
    """The int32 that a sum or product becomes where it has no room."""
    return np.asarray(x, np.int64).astype(np.int32).astype(np.int64)


def high(a: Array, b: Array | int) -> Array:
    """The doubled upper half of a product, rounded: ``a · b / 2 ** 31``."""
    product = np.asarray(a, np.int64) * b
    nudged = product + np.where(product >= 0, 1 << 30, 1 - (1 << 30))
    towards_zero = np.where(nudged >= 0, nudged >> 31, -((-nudged) >> 31))
    return np.minimum(towards_zero, MOST)  # both factors the least


def divided(x: Array, exponent: Array | int) -> Array:
    """``x / 2 ** exponent``, rounded, halves away from zero."""
    exponent = np.asarray(exponent, np.int64)
    mask = (1 << exponent) - 1
    threshold = (mask >> 1) + (x < 0)
    return np.asarray((x >> exponent) + ((x & mask) > threshold))


def times(x: Array, mantissa: Array | int, exponent: Array | int) -> Array:
    """``x · mantissa / 2 ** 31 · 2 ** exponent``, rounded twice."""
    exponent = np.asarray(exponent, np.int64)
    left = wrapped(np.asarray(x, np.int64) * (1 << np.maximum(exponent, 0)))
    return divided(high(left, mantissa), np.maximum(-exponent, 0))


def once(x: Array, rate: Array | float) -> Array:
    """``x · rate`` in float64, rounded once, halves away from zero."""
    product = np.asarray(x, np.float64) * rate
    whole = np.trunc(product)
    return np.asarray(
        whole + np.where(np.abs(product - whole) >= 0.5, np.sign(product), 0), np.int64
    )


def raised(x: Array, bits: int) -> Array:
    """``x · 2 ** bits`` within int32."""
    return np.asarray(np.clip(np.asarray(x, np.int64) << bits, LEAST, MOST))
