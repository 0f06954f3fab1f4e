"""PolyBench correlation, float32: of every two columns of a table."""

from __future__ import annotations

import numpy as np

import allo
from allo.customize import Schedule
from allo.ir.types import float32

from .column_mean import column_mean, reference_column_mean, schedule_column_mean

SIZES = {"tiny": (5, 7), "mini": (28, 32), "small": (80, 100), "medium": (240, 260)}

eps = 0.1


def column_deviation[T, M, N](data: T[N, M], mean: T[M], stddev: T[M]):
    """Standard deviations; a column that hardly varies counts as varying by 1."""
    for j in range(M):
        total: T = 0.0
        for i in range(N):
            total += (data[i, j] - mean[j]) * (data[i, j] - mean[j])
        root: T = allo.sqrt(total / N)
        stddev[j] = 1.0 if root <= eps else root


def standardise[T, M, N](data: T[N, M], mean: T[M], stddev: T[M]):
    """Columns of mean 0 whose products add up to 1."""
    root_n: T = allo.sqrt(float(N))
    for i, j in allo.grid(N, M):
        data[i, j] -= mean[j]
        data[i, j] /= root_n * stddev[j]


def products[T, M, N](data: T[N, M], corr: T[M, M]):
    """``data.T @ data``, which is symmetric and 1 on the diagonal."""
    for i in range(M - 1):
        corr[i, i] = 1.0
        for j in range(i + 1, M):
            corr[i, j] = 0.0
            for k in range(N):
                corr[i, j] += data[k, i] * data[k, j]
            corr[j, i] = corr[i, j]
    corr[M - 1, M - 1] = 1.0


def correlation[T, M, N](data: T[N, M], corr: T[M, M], mean: T[M], stddev: T[M]):
    """``data`` is standardised in place; the others are results."""
    column_mean[T, M, N](data, mean)
    column_deviation[T, M, N](data, mean, stddev)
    standardise[T, M, N](data, mean, stddev)
    products[T, M, N](data, corr)


def schedule(size: tuple[int, ...]) -> Schedule:
    """Every innermost loop a pipeline; rows of ``data`` in two halves, so that two can be read."""
    s = allo.customize(correlation, instantiate=[float32, *size])
    s.compose(schedule_column_mean(size))
    for kernel, loop in ((column_deviation, "i"), (standardise, "j"), (products, "k")):
        inner = allo.customize(kernel, instantiate=[float32, *size])
        inner.pipeline(loop)
        s.compose(inner)
    return s


def inputs(rng: np.random.Generator, size: tuple[int, ...]) -> tuple[np.ndarray, ...]:
    """Random data with one column that hardly varies, and arrays to overwrite."""
    columns, rows = size
    data = rng.standard_normal((rows, columns), np.float32)
    data[:, 1] *= np.float32(0.01)
    shapes = ((columns, columns), (columns,), (columns,))
    return data, *(rng.standard_normal(shape, np.float32) for shape in shapes)


def reference(data: np.ndarray, corr: np.ndarray, mean: np.ndarray, stddev: np.ndarray) -> None:
    """The kernel in NumPy, sums in the same order."""
    reference_column_mean(data, mean)
    stddev[:] = 0
    for row in data:
        stddev += (row - mean) * (row - mean)
    root = np.sqrt(stddev / np.float32(len(data)))
    stddev[:] = np.where(root <= np.float32(eps), np.float32(1), root)
    data -= mean
    data /= np.sqrt(np.float32(len(data))) * stddev
    corr[:] = 0
    for row in data:
        corr += np.outer(row, row)
    np.fill_diagonal(corr, 1)
