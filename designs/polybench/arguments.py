"""Random arguments of the kernels: float32 arrays on which elimination and roots keep their digits."""

from __future__ import annotations

import numpy as np


def normal(rng: np.random.Generator, *shapes: tuple[int, ...]) -> tuple[np.ndarray, ...]:
    """One array of standard normal numbers for each shape."""
    return tuple(rng.standard_normal(shape, np.float32) for shape in shapes)


def dominant(rng: np.random.Generator, n: int) -> np.ndarray:
    """A matrix whose diagonal outweighs its rows: it is eliminated without pivots."""
    A = rng.uniform(-1, 1, (n, n)).astype(np.float32)
    A += np.float32(n) * np.eye(n, dtype=np.float32)
    return A


def positive_definite(rng: np.random.Generator, n: int) -> np.ndarray:
    """A symmetric matrix with positive eigenvalues."""
    A = dominant(rng, n)
    symmetric: np.ndarray = A + A.T
    return symmetric
