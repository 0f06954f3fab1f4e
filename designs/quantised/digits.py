"""Images of digits: a font of 5 × 7 dots on 8 × 8 places, moved, faded and with noise."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

SIDE = 8
CLASSES = 10
_FONT = (
    "0E 11 13 15 19 11 0E",
    "04 0C 04 04 04 04 0E",
    "0E 11 01 02 04 08 1F",
    "1F 02 04 02 01 11 0E",
    "02 06 0A 12 1F 02 02",
    "1F 10 1E 01 01 11 0E",
    "06 08 10 1E 11 11 0E",
    "1F 01 02 04 08 08 08",
    "0E 11 11 0E 11 11 0E",
    "0E 11 11 0F 01 02 0C",
)
"""Seven rows of each digit, five dots in each, the most significant one on the left."""


def glyph(digit: int) -> NDArray[np.float64]:
    """A digit as 7 × 5 dots of 0 and 1."""
    rows = [int(row, 16) for row in _FONT[digit].split()]
    return np.array([[row >> (4 - column) & 1 for column in range(5)] for row in rows], float)


def images(count: int, seed: int) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Random images and their digits.

    Returns:
        Sixteenths from 0 to 15 / 16, ``[count, 64]``, and the digits, ``[count]``.
    """
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, CLASSES, count)
    found = np.zeros((count, SIDE, SIDE))
    for image, digit in zip(found, labels, strict=True):
        top, left = rng.integers(0, 2), rng.integers(0, 4)
        image[top : top + 7, left : left + 5] = glyph(int(digit)) * rng.uniform(0.5, 1.0)
        image += rng.normal(0, 0.15, image.shape)
    sixteenths = np.clip(np.round(found.reshape(count, -1) * 16), 0, 15)
    return (sixteenths / 16).astype(np.float32), labels
