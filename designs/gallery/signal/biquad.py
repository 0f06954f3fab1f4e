"""IIR biquad: a second-order section in transposed direct form II.

An infinite impulse response filter feeds its output back:
`y[n] = b0 x[n] + b1 x[n-1] + b2 x[n-2] - a1 y[n-1] - a2 y[n-2]`.
This one is a Butterworth low-pass at a tenth of the sampling frequency, with coefficients in Q14 and
samples of 16 bits; the state keeps 14 more fraction bits, and every output is rounded down once.

Hardware: five multipliers and two state registers. The products with x run ahead; the products with
y stand in the loop that feeds back.

Interval: the feedback. `y[n]` must be multiplied by `a1` and added before `y[n+1]` is known, and a sample
cannot begin earlier. Several channels that take turns on one filter would hide it.

Source: R. Bristow-Johnson, Audio EQ Cookbook, low-pass; A. V. Oppenheim and R. W. Schafer,
Discrete-Time Signal Processing, 3rd edition, section 6.3.

Used in: audio equalisers, control loops, sensor conditioning
"""

from __future__ import annotations

import math

import numpy as np

import allo
from allo.customize import Schedule
from allo.ir.types import Int, int16

N, FRACTION = 256, 14
State = Int(48)


def low_pass(frequency: float, q: float = math.sqrt(0.5)) -> list[int]:
    """b0, b1, b2, a1, a2 in Q14, divided by a0; ``frequency`` in cycles a sample."""
    w = 2 * math.pi * frequency
    alpha = math.sin(w) / (2 * q)
    feed = [(1 - math.cos(w)) / 2, 1 - math.cos(w), (1 - math.cos(w)) / 2]
    back = [-2 * math.cos(w), 1 - alpha]
    return [round(c / (1 + alpha) * 2**FRACTION) for c in (*feed, *back)]


B0, B1, B2, A1, A2 = low_pass(0.1)


def biquad(x: int16[N]) -> int16[N]:
    """Filter ``N`` samples, from a state of zero; outputs wrap at 16 bits."""
    y: int16[N]
    s1: State = 0
    s2: State = 0
    for n in range(N):
        out: int16 = (B0 * x[n] + s1) >> FRACTION
        s1 = B1 * x[n] - A1 * out + s2
        s2 = B2 * x[n] - A2 * out
        y[n] = out
    return y


def schedule() -> Schedule:
    """Samples overlap as far as the feedback allows."""
    s = allo.customize(biquad)
    s.pipeline("n")
    return s


def inputs(rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    """Random samples, low enough that no output leaves 16 bits."""
    return (rng.integers(-(2**13), 2**13, N, np.int16),)


def reference(x: np.ndarray) -> np.ndarray:
    """The difference equation on Python's integers, without a state: direct form I."""
    y: list[int] = []
    past = [0, 0, *(int(sample) for sample in x)]
    for n in range(N):
        total = B0 * past[n + 2] + B1 * past[n + 1] + B2 * past[n]
        total -= A1 * y[n - 1] if n > 0 else 0
        total -= A2 * y[n - 2] if n > 1 else 0
        y.append(total >> FRACTION)
    return np.array(y, np.int16)
