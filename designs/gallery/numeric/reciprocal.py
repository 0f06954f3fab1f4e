"""Newton reciprocal: the quotient of 2^32 by a 16-bit divisor, exact, one a cycle.

The divisor is shifted left until its highest bit is set, which makes it a number m from 1/2 to 1. A line
gives a first guess x of 1/m, right to four bits, and each step x (2 - m x) of Newton's method doubles
them: eight, 16, 32. The result is shifted back. It is never too large and may be one too small, which
the remainder shows: what comes out is the quotient rounded down.

Hardware: a shifter in four stages, eight multipliers in a pipeline, and a subtraction for the remainder.
A divider that makes one bit after another would have 33 stages or take 33 cycles.

Interval: nothing holds it up; divisors do not depend on each other.

Source: I. Koren, Computer Arithmetic Algorithms, 2nd edition, chapter 8.

Used in: division of many numbers by one, normalisation, graphics
"""

from __future__ import annotations

import numpy as np

import allo
from allo.customize import Schedule
from allo.ir.types import UInt, uint5, uint16, uint64

N, BITS, STEPS = 256, 16, 3
FRACTION = 36
Quotient, Guess = UInt(33), UInt(38)

OFFSET = round(48 / 17 * 2**FRACTION)
SLOPE = round(32 / 17 * 2 ** (FRACTION - BITS))
TWO = 2 << FRACTION


def reciprocal(divisor: uint16[N]) -> Quotient[N]:
    """``2^32 // divisor`` of each of ``N`` divisors, by Newton's method; a divisor is not zero.

    ``m`` is the divisor shifted left to 16 bits, ``x`` its reciprocal with ``FRACTION`` fraction bits.
    """
    out: Quotient[N]
    for n in range(N):
        m: uint16 = divisor[n]
        shift: uint5 = 0
        with allo.meta_for(4) as k:
            if m < 1 << (BITS - (8 >> k)):
                m <<= 8 >> k
                shift += 8 >> k
        x: Guess = OFFSET - SLOPE * m
        for _ in range(STEPS):
            rest: Guess = TWO - ((m * x) >> BITS)
            x = (rest * x) >> FRACTION
        quotient: Quotient = x >> (FRACTION + BITS - 32 - shift)
        remainder: uint64 = (1 << 32) - quotient * divisor[n]
        if remainder >= divisor[n]:
            quotient += 1
        out[n] = quotient
    return out


def schedule() -> Schedule:
    """A divisor a cycle."""
    s = allo.customize(reciprocal)
    s.pipeline("n")
    return s


def inputs(rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    """Random divisors of all sizes, the smallest and the largest among them."""
    divisor = rng.integers(1, 2**BITS, N, np.uint16) >> rng.integers(0, BITS, N, np.uint16)
    divisor[:4] = 1, 2, 3, 2**BITS - 1
    return (np.maximum(divisor, 1),)


def reference(divisor: np.ndarray) -> np.ndarray:
    """Python's division of integers."""
    return np.array([2**32 // int(d) for d in divisor], np.uint64)
