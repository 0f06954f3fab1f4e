"""PolyBench correlation, float32: of every two columns of a table."""

from __future__ import annotations

import math

import numpy as np

import allo
from allo.customize import Schedule
from allo.ir.types import float32

from ..columns import column_mean, reference_column_mean, schedule_columns
from ..product import product, schedule_product

SIZES = {"tiny": (5, 7), "mini": (28, 32), "small": (80, 100), "medium": (240, 260)}

eps = 0.1


def column_deviation[T, M, N](data: T[N, M], mean: T[M], stddev: T[M]):
    """Standard deviations; a column that hardly varies counts as varying by 1."""
    for j in range(M, name="clear"):
        stddev[j] = 0.0
    for j in range(M, name="sum"):
        for i in range(N):
            stddev[j] += (data[i, j] - mean[j]) * (data[i, j] - mean[j])
    for j in range(M, name="finish"):
        stddev[j] = allo.sqrt(stddev[j] / N)
        stddev[j] = 1.0 if stddev[j] <= eps else stddev[j]


def standardise[T, M, N](data: T[N, M], mean: T[M], stddev: T[M]):
    """Columns of mean 0 whose products add up to 1."""
    root_n: T = allo.sqrt(float(N))
    for i, j in allo.grid(N, M):
        data[i, j] -= mean[j]
        data[i, j] /= root_n * stddev[j]


def correlation[T, M, N](data: T[N, M], corr: T[M, M], mean: T[M], stddev: T[M]):
    """``data`` is standardised in place; the others are results."""
    column_mean[T, M, N](data, mean)
    column_deviation[T, M, N](data, mean, stddev)
    standardise[T, M, N](data, mean, stddev)
    columns: T[M, N]
    for i, j in allo.grid(N, M, name="transpose"):
        columns[j, i] = data[i, j]
    products = product[T, T, M, M, N](columns, data)
    for i, j in allo.grid(M, M, name="result"):
        corr[i, j] = 1.0 if i == j else products[i, j]


def schedule(size: tuple[int, ...]) -> Schedule:
    """Every sweep a pipeline; the products, most of the work, on a row engine."""
    columns, rows = size
    s = allo.customize(correlation, instantiate=[float32, *size])
    s.compose([schedule_columns(kernel, size) for kernel in (column_mean, column_deviation)])
    s.pipeline("standardise:j")
    s.compose(schedule_product(float32, float32, (columns, columns, rows), math.gcd(columns, 8)))
    for band in ("transpose", "result"):
        s.pipeline(s.get_loops()[band]["j"])
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
