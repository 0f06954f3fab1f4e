"""Histogram: how often each of 256 values occurs, one value a cycle.

Hardware: a memory with a counter for each value. The counter is read, raised and written back in a
pipeline; where the same value comes again before its counter has been written, the count on its way to
the memory is taken instead of the old word (a comparison of addresses and one register).

Interval: nothing holds it up, because the word that is being written is forwarded. Without that, two
equal values in a row would have to be several cycles apart.

Source: R. Kastner, J. Matai and S. Neuendorffer, Parallel Programming for FPGAs, chapter 8.

Used in: image equalisation, statistics of network traffic, radix sort
"""

from __future__ import annotations

import numpy as np

import allo
from allo.customize import Schedule
from allo.ir.types import uint8, uint16

N, BINS = 512, 256


def histogram(x: uint8[N]) -> uint16[BINS]:
    """How often each value 0 to 255 occurs among the ``N`` elements of ``x``."""
    count: uint16[BINS]
    out: uint16[BINS]
    for b in range(BINS):
        count[b] = 0
    for n in range(N):
        count[x[n]] += 1
    for c in range(BINS):
        out[c] = count[c]
    return out


def schedule() -> Schedule:
    """Clear, count and hand out at a word a cycle."""
    s = allo.customize(histogram)
    for loop in ("b", "n", "c"):
        s.pipeline(loop)
    return s


def inputs(rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    """Values around the middle, so that equal ones follow one another often."""
    return (np.clip(rng.normal(128, 4, N), 0, 255).astype(np.uint8),)


def reference(x: np.ndarray) -> np.ndarray:
    """NumPy's own."""
    return np.bincount(x, minlength=BINS).astype(np.uint16)
