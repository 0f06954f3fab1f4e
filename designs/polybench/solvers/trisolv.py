"""PolyBench trisolv: ``L @ x = b`` for a lower triangle L."""

from __future__ import annotations

import numpy as np

import allo
from allo.customize import Schedule
from allo.ir.types import AlloType, float32

from ..arguments import dominant, normal

# N.
SIZES = {"tiny": (4,), "mini": (40,), "small": (120,), "medium": (400,)}


def trisolv[T, N](L: T[N, N], b: T[N], x: T[N]):
    """``L @ x = b``, by substitution."""
    for i in range(N):
        x[i] = b[i]
        for j in range(i):
            x[i] -= L[i, j] * x[j]
        x[i] = x[i] / L[i, i]


def schedule(size: tuple[int, ...], element: AlloType = float32) -> Schedule:
    """The sum over j as a pipeline."""
    s = allo.customize(trisolv, instantiate=[element, *size])
    s.pipeline("j")
    return s


def inputs(rng: np.random.Generator, size: tuple[int, ...]) -> tuple[np.ndarray, ...]:
    """A random system with a heavy diagonal; x is overwritten."""
    n = size[0]
    return dominant(rng, n), *normal(rng, (n,), (n,))


def reference(L: np.ndarray, b: np.ndarray, x: np.ndarray) -> None:
    """The kernel in NumPy, a column at a time: each element still subtracts in order of j."""
    x[:] = b
    for j in range(len(x)):
        x[j] /= L[j, j]
        x[j + 1 :] -= L[j + 1 :, j] * x[j]
