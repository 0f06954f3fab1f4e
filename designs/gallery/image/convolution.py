"""3 × 3 convolution: an image through a window, a pixel a cycle.

Every pixel of the result is the weighted sum of a pixel and its eight neighbours; the weights here
sharpen (nine in the middle, minus one around). The border is left out.

Hardware: two line buffers hold the last rows, and a window of nine registers slides along them, so
that every pixel is read from memory once although nine sums use it. `reuse_at` derives both from the
plain loops: first rows along `y`, then columns along `x`.

Interval: nothing holds it up: one pixel comes in for every one that goes out, and while the buffers
fill at the beginning of a row or of the image no pixel goes out.

Source: W. K. Pratt, Digital Image Processing, chapter on image enhancement.

Used in: cameras, printers, first layers of neural networks
"""

from __future__ import annotations

import numpy as np

import allo
from allo.customize import Schedule
from allo.ir.types import int8, int16, uint8

HEIGHT, WIDTH = 18, 34

sharpen = np.full((3, 3), -1, np.int8)
sharpen[1, 1] = 9


def convolution(image: uint8[HEIGHT, WIDTH]) -> int16[HEIGHT - 2, WIDTH - 2]:
    """Each pixel is the sum of a window of ``image``, weighted with ``sharpen``.

    Pixels are 0 to 255 and results -2040 to 2295. The window of result (y, x) begins at pixel (y, x).
    """
    weight: int8[3, 3] = sharpen
    out: int16[HEIGHT - 2, WIDTH - 2]
    for y, x in allo.grid(HEIGHT - 2, WIDTH - 2):
        total: int16 = 0
        for r, c in allo.reduction(3, 3):
            total += weight[r, c] * image[y + r, x + c]
        out[y, x] = total
    return out


def schedule() -> Schedule:
    """Line buffers, a window, and a pixel a cycle."""
    s = allo.customize(convolution)
    lines = s.reuse_at(s.image, "y")
    window = s.reuse_at(lines, "x")
    s.partition(lines, dim=1)
    s.partition(window)
    s.partition(s.weight)
    s.pipeline("x")
    return s


def inputs(rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    """A random image."""
    return (rng.integers(0, 256, (HEIGHT, WIDTH), np.uint8),)


def reference(image: np.ndarray) -> np.ndarray:
    """All windows at once."""
    windows = np.lib.stride_tricks.sliding_window_view(image.astype(np.int16), (3, 3))
    return (windows * sharpen).sum(axis=(2, 3), dtype=np.int16)
