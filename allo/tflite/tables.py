"""Tables of functions of one integer, as the kernels compute them when a network is loaded."""

from __future__ import annotations

from math import floor

import numpy as np

from allo.models.integers.arithmetic import Array

from .fixedpoint import MOST, divided, high, raised
from .scales import quantised

_DIFFERENCE_BITS = 5
"""Bits before the point of a difference from the greatest element of a row."""
_QUARTER = 1 << (31 - _DIFFERENCE_BITS - 2)
_POWERS = (1672461947, 1302514674, 790015084, 290630308, 39332535, 720401, 242)
"""exp(-1/4), exp(-1/2), exp(-1) … exp(-16), in units of 2 ** -31."""


def exponentials(scale: float, beta: float) -> Array:
    """``exp(beta * scale * -n)`` for n of 0 … 255, in units of 2 ** -31, int32; 0 beyond what is summed."""
    real = min(float(np.float32(beta)) * scale * (1 << (31 - _DIFFERENCE_BITS)), (1 << 31) - 1.0)
    mantissa, shift = quantised(real)
    radius = floor(((1 << _DIFFERENCE_BITS) - 1) * float(1 << (31 - _DIFFERENCE_BITS)) / 2.0**shift)
    steps = -np.arange(256, dtype=np.int64)
    kept = steps >= -radius
    values = _exponential(high(np.where(kept, steps, 0) * (1 << shift), mantissa))
    return np.where(kept, values, 0).astype(np.int32)


def _exponential(a: Array) -> Array:
    """``exp(a)`` of numbers up to 0 with five bits before the point, in units of 2 ** -31."""
    rest = (a & (_QUARTER - 1)) - _QUARTER
    result = _near_zero(raised(rest, _DIFFERENCE_BITS))
    left = rest - a
    for number, factor in enumerate(_POWERS):
        chosen = left & (_QUARTER << number) != 0
        result = np.where(chosen, high(result, factor), result)
    return np.where(a == 0, MOST, result)


def _near_zero(a: Array) -> Array:
    """``exp(a)`` of -1/4 up to 0, by a polynomial around -1/8."""
    at, third = 1895147668, 715827883  # exp(-1/8), 1/3
    x = a + (1 << 28)
    square = high(x, x)
    cube, fourth = high(square, x), high(square, square)
    rest = divided(high(divided(fourth, 2) + cube, third) + square, 1)
    return at + high(x + rest, at)
