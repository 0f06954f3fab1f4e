"""CORDIC: sine and cosine of an angle with shifts and additions, one angle a cycle.

A vector (K, 0) is turned towards the angle in steps of atan(2^-k), each a shift and an addition: to
the left where the rest of the angle is positive, else to the right. After 16 steps the vector is
(cos, sin); K = 0.607… makes up for its growth. Angles from -pi/2 to pi/2 and results are fixed-point
numbers with 19 fraction bits; results are right to 14 of them.

Hardware: 16 stages in a row, each with three adders; the shifts are wires. A new angle enters in
every cycle.

Interval: nothing holds it up; an angle needs nothing of the one before.

Source: J. E. Volder, The CORDIC Trigonometric Computing Technique, IRE Transactions on Electronic
Computers, 1959.

Used in: radios, motor control, graphics
"""

from __future__ import annotations

import math

import numpy as np

import allo
from allo.customize import Schedule
from allo.ir.types import Fixed

N, STEPS = 256, 16
FRACTION = 19
Q = Fixed(22, FRACTION)
TOLERANCE = 2.0**-14

turns = np.array([math.atan(2.0**-k) for k in range(STEPS)], np.float32)
SHRINK = math.prod(1 / math.sqrt(1 + 4.0**-k) for k in range(STEPS))


def cordic(angle: Q[N], sine: Q[N], cosine: Q[N]):
    """Sine and cosine of ``N`` angles in radians, -pi/2 to pi/2, by Volder's rotations.

    All three arrays have ``FRACTION`` fraction bits; results are within ``TOLERANCE``.
    """
    turn: Q[STEPS] = turns
    for n in range(N):
        rest: Q = angle[n]
        x: Q = SHRINK
        y: Q = 0.0
        for k in range(STEPS):
            dx: Q = x >> k
            dy: Q = y >> k
            if rest < 0:
                x += dy
                y -= dx
                rest += turn[k]
            else:
                x -= dy
                y += dx
                rest -= turn[k]
        cosine[n] = x
        sine[n] = y


def schedule() -> Schedule:
    """An angle a cycle: all steps side by side."""
    s = allo.customize(cordic)
    s.pipeline("n")
    s.partition(s.turn)
    return s


def inputs(rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    """Random angles of the right half plane, on the grid of the format."""
    limit = math.floor(math.pi / 2 * 2**FRACTION)
    angle = rng.integers(-limit, limit + 1, N) / 2**FRACTION
    return angle, np.zeros(N), np.zeros(N)


def reference(angle: np.ndarray, sine: np.ndarray, cosine: np.ndarray) -> None:
    """NumPy's sine and cosine; the kernel is within ``TOLERANCE``."""
    sine[:] = np.sin(angle)
    cosine[:] = np.cos(angle)
