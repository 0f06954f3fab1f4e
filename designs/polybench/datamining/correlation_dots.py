"""PolyBench correlation by columns: each is swept whole, and half of the symmetric product is computed.

PolyBench divides every element by its column's deviation. Here one division for a column gives the inverse,
by which its elements are multiplied. Products are those of two columns of the table itself, as in PolyBench.
"""

from __future__ import annotations

import allo
from allo.ir.types import float32

from .correlation import SIZES, eps, inputs, reference


def standardise_columns[T: (float32,), M, N](data: T[N, M], mean: T[M], stddev: T[M]):
    """Columns of mean 0 whose squares add up to 1; one that hardly varies counts as varying by 1."""
    for j in range(M, name="mean"):
        total: T = 0
        for i in allo.reduction(N):
            total += data[i, j]
        mean[j] = total / N
    for j in range(M, name="deviation"):
        squares: T = 0
        for i in allo.reduction(N):
            squares += (data[i, j] - mean[j]) * (data[i, j] - mean[j])
        deviation: T = allo.sqrt(squares / N)
        stddev[j] = 1.0 if deviation <= eps else deviation
    for j in range(M, name="standardise"):
        inverse: T = 1.0 / (allo.sqrt(float(N)) * stddev[j])
        for i in range(N):
            data[i, j] = (data[i, j] - mean[j]) * inverse


def correlate[T: (float32,), M, N](data: T[N, M], corr: T[M, M]):
    """The dot product of every two columns, at both of its places, and ones on the diagonal."""
    for i in range(M):
        for j in range(i + 1):
            dot: T = 0
            for k in allo.reduction(N):
                dot += data[k, i] * data[k, j]
            corr[i, j] = dot if j < i else 1.0
            corr[j, i] = dot if j < i else 1.0


def correlation_dots[T: (float32,), M, N](data: T[N, M], corr: T[M, M], mean: T[M], stddev: T[M]):
    """``data`` is standardised in place; the others are results."""
    standardise_columns[T, M, N](data, mean, stddev)
    correlate[T, M, N](data, corr)


__all__ = ["SIZES", "correlate", "correlation_dots", "inputs", "reference", "standardise_columns"]
