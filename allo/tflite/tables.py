"""Tables of functions of one integer, as the kernels compute them when a network is loaded."""

from __future__ import annotations

from collections.abc import Callable
from math import floor, log2

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


# --- functions of 16 bits -----------------------------------------------------------------------

_STEPS = 512
"""Of tables between whose places it is interpolated; one element more ends the last."""


_HIGHER = 0x800000000000000000000000000000800011009020440005C0467BAEFA7BD110
"""Bit n: place n of the table of the logistic function is one more than the nearest integer, as the
interpreter shows when it is run at all places."""


def _rounded(values: Array) -> Array:
    """Halves away from zero."""
    return np.asarray(np.trunc(values + np.copysign(0.5, values)))


def _sampled(function: Callable[[Array], Array], least: float, most: float) -> Array:
    """A function at 513 places in units of 2 ** -15, each less half of a line's error in the middle."""
    step = (most - least) / _STEPS
    at = least + np.arange(_STEPS) * step
    here, middle = function(at) * 32768.0, function(at + step / 2) * 32768.0
    there = function(least + (np.arange(_STEPS) + 1) * step) * 32768.0
    between = _rounded((there + _rounded(here)) / 2)
    samples = _rounded(here) - _rounded((between - _rounded(middle)) / 2)
    whole = np.append(samples, _rounded(function(np.array([most])) * 32768.0))
    return np.asarray(np.clip(whole, -32768, 32767), np.int16)


def powers_16() -> Array:
    """``exp`` of -10 … 0."""
    return _sampled(np.exp, -10.0, 0.0)


def reciprocals_16() -> Array:
    """``1 / (1 + x)`` of 0 … 1."""
    return _sampled(lambda x: 1.0 / (1.0 + x), 0.0, 1.0)


def logistic_16() -> Array:
    """``1 / (1 + exp(-x))`` of multiples of 1/24, in units of 2 ** -16."""
    values = _rounded(65536.0 / (1.0 + np.exp(-np.arange(256) / 24.0)))
    higher = np.array([_HIGHER >> place & 1 for place in range(256)])
    return np.asarray(np.minimum(values + higher, 65535), np.int32)


def logistic_factor(scale: float, exact_shifts: tuple[int, ...]) -> tuple[int, int]:
    """What an input of LOGISTIC or TANH of int16 is multiplied by, and shifted to the right by.

    Args:
        scale: of the input.
        exact_shifts: the powers of two above 2 ** -12 whose factor is 3 without a shift.
    """
    power = log2(scale)
    if abs(power - round(power)) < 1e-3 and round(power) + 12 in exact_shifts:
        return 3 << (round(power) + 12), 0
    factor, shift = scale * 4096.0 * 3.0, 0
    while factor <= 32767.0 / 2.0 and shift <= 30:
        factor, shift = factor * 2.0, shift + 1
    return int(factor), shift
