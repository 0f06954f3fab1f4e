"""The lower triangle of a matrix scaled: the first step of PolyBench's rank updates."""

from __future__ import annotations

import numpy as np

from allo.ir.types import float32, int32

from .scale import beta


def scale_lower[T: (float32, int32), N](C: T[N, N]):
    """``C *= beta``, on and below the diagonal."""
    for i in range(N):
        for j in range(i + 1):
            C[i, j] *= beta


def reference_scale_lower(C: np.ndarray) -> None:
    """The same in NumPy."""
    lower = np.tri(len(C), dtype=bool)
    C[lower] *= np.float32(beta)
