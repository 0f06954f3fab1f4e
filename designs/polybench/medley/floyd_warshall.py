"""PolyBench floyd-warshall, int32: the shortest path between any two nodes."""

from __future__ import annotations

import numpy as np

import allo
from allo.customize import Schedule
from allo.ir.types import int32

SIZES = {"tiny": (7,), "mini": (60,), "small": (180,), "medium": (500,)}

UNREACHABLE = 999


def floyd_warshall[T, N](path: T[N, N]):
    """``path[i, j]`` becomes the length of the shortest way from i to j."""
    for k in range(N):
        for i, j in allo.grid(N, N):
            through = path[i, k] + path[k, j]
            path[i, j] = path[i, j] if path[i, j] < through else through


def schedule(size: tuple[int, ...]) -> Schedule:
    """One element a step."""
    s = allo.customize(floyd_warshall, instantiate=[int32, *size])
    s.pipeline("j")
    return s


def inputs(rng: np.random.Generator, size: tuple[int, ...]) -> tuple[np.ndarray, ...]:
    """A random graph in which most nodes are not joined."""
    (n,) = size
    length = rng.integers(1, 100, (n, n), np.int32)
    path = np.where(rng.random((n, n)) < 0.3, length, UNREACHABLE).astype(np.int32)
    np.fill_diagonal(path, 0)
    return (path,)


def reference(path: np.ndarray) -> None:
    """The kernel in NumPy; row and column k stay as they are in step k, for no length is negative."""
    for k in range(len(path)):
        np.minimum(path, path[:, k : k + 1] + path[k], out=path)
