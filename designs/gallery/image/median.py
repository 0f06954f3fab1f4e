"""Median filter: the middle one of nine pixels, a pixel a cycle.

A median takes single wrong pixels away and keeps edges. Of nine pixels in three columns, sort every
column; then the median is the middle one of three: the largest of the smallest, the median of the
middle ones, and the smallest of the largest.

Hardware: line buffers and a window, as for a convolution (`reuse_at`), and a network of comparators
with multiplexers: minima and maxima of columns first, then of their results.

Interval: nothing holds it up; the network is a pipeline, and every window is another.

Source: J. L. Smith, Implementing Median Filters in XC4000E FPGAs, Xcell 23, 1996.

Used in: cameras, medical imaging, lidar
"""

from __future__ import annotations

import numpy as np

import allo
from allo.customize import Schedule
from allo.ir.types import uint8

HEIGHT, WIDTH = 18, 34


def middle(a: uint8, b: uint8, c: uint8) -> uint8:
    """The median of three pixels."""
    return max(min(a, b), min(max(a, b), c))


def median(image: uint8[HEIGHT, WIDTH]) -> uint8[HEIGHT - 2, WIDTH - 2]:
    """The median of every window of 3 × 3 pixels, by Smith's network.

    The window of result (y, x) begins at pixel (y, x).
    """
    out: uint8[HEIGHT - 2, WIDTH - 2]
    for y, x in allo.grid(HEIGHT - 2, WIDTH - 2):
        low: uint8 = 0
        high: uint8 = 255
        centre: uint8[3]
        for c in range(3):
            top: uint8 = image[y, x + c]
            mid: uint8 = image[y + 1, x + c]
            bottom: uint8 = image[y + 2, x + c]
            low = max(low, min(top, min(mid, bottom)))
            high = min(high, max(top, max(mid, bottom)))
            centre[c] = middle(top, mid, bottom)
        out[y, x] = middle(low, middle(centre[0], centre[1], centre[2]), high)
    return out


def schedule() -> Schedule:
    """Line buffers, a window, and a pixel a cycle."""
    s = allo.customize(median)
    lines = s.reuse_at(s.image, "y")
    window = s.reuse_at(lines, "x")
    s.partition(lines, dim=1)
    s.partition(window)
    s.partition(s.centre)
    s.pipeline("x")
    return s


def inputs(rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    """A random image."""
    return (rng.integers(0, 256, (HEIGHT, WIDTH), np.uint8),)


def reference(image: np.ndarray) -> np.ndarray:
    """NumPy's median of all windows."""
    windows = np.lib.stride_tricks.sliding_window_view(image, (3, 3))
    middles: np.ndarray = np.median(windows, axis=(2, 3))
    return middles.astype(np.uint8)
