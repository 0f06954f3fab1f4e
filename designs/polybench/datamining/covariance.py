"""PolyBench covariance, float32: of every two columns of a table."""

from __future__ import annotations

import numpy as np

import allo
from allo.customize import Schedule
from allo.ir.types import float32

from ..columns import column_mean, reference_column_mean, schedule_columns

SIZES = {"tiny": (5, 7), "mini": (28, 32), "small": (80, 100), "medium": (240, 260)}


def covariance[T, M, N](data: T[N, M], cov: T[M, M], mean: T[M]):
    """``data`` is centred in place; ``cov`` and ``mean`` are results."""
    column_mean[T, M, N](data, mean)
    for i, j in allo.grid(N, M, name="centre"):
        data[i, j] -= mean[j]
    for i in range(M, name="products"):
        for j in range(i, M):
            cov[i, j] = 0.0
            for k in range(N):
                cov[i, j] += data[k, i] * data[k, j]
            cov[i, j] /= N - 1.0
            cov[j, i] = cov[i, j]


def schedule(size: tuple[int, ...]) -> Schedule:
    """Every innermost loop a pipeline."""
    s = allo.customize(covariance, instantiate=[float32, *size])
    s.compose(schedule_columns(column_mean, size))
    s.pipeline(s.get_loops()["centre"]["j"])
    s.pipeline("k")
    return s


def inputs(rng: np.random.Generator, size: tuple[int, ...]) -> tuple[np.ndarray, ...]:
    """Random data and two arrays to overwrite."""
    columns, rows = size
    shapes = ((rows, columns), (columns, columns), (columns,))
    return tuple(rng.standard_normal(shape, np.float32) for shape in shapes)


def reference(data: np.ndarray, cov: np.ndarray, mean: np.ndarray) -> None:
    """The kernel in NumPy, sums in the same order."""
    reference_column_mean(data, mean)
    data -= mean
    cov[:] = 0
    for row in data:
        cov += np.outer(row, row)
    cov /= np.float32(len(data) - 1)
