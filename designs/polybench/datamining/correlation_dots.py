"""PolyBench correlation by columns: each is swept whole, and half of the symmetric product is computed.

PolyBench divides every element by its column's deviation. Here one division for a column gives the inverse,
by which its elements are multiplied. Products are those of two columns of the table itself, as in PolyBench.
All is one function, whose regions start while those before them drain.
"""

from __future__ import annotations

import allo
from allo.ir.types import float32

from .correlation import SIZES, eps, inputs, reference


def correlation_dots[T: (float32,), M, N](data: T[N, M], corr: T[M, M], mean: T[M], stddev: T[M]):
    """``data`` is standardised in place; the others are results.

    First columns get mean 0, and squares that add up to 1; one that hardly varies counts as varying by 1.
    Then the dot product of every two columns goes to both of its places, and ones to the diagonal. Sums start
    from -0, to which the first term is added without rounding and without an adder.
    """
    for column in range(M, name="mean"):
        total: T = -0.0
        for row in allo.reduction(N):
            total += data[row, column]
        mean[column] = total / N
    for column in range(M, name="deviation"):
        squares: T = -0.0
        for row in allo.reduction(N):
            squares += (data[row, column] - mean[column]) * (data[row, column] - mean[column])
        deviation: T = allo.sqrt(squares / N)
        stddev[column] = 1.0 if deviation <= eps else deviation
    for column in range(M, name="standardise"):
        inverse: T = 1.0 / allo.sqrt(float(N)) / stddev[column]
        for row in range(N):
            data[row, column] = (data[row, column] - mean[column]) * inverse
    for i in range(M, name="product"):
        for j in range(i + 1):
            dot: T = -0.0
            for k in allo.reduction(N):
                dot += data[k, i] * data[k, j]
            corr[i, j] = dot if j < i else 1.0
            corr[j, i] = dot if j < i else 1.0


__all__ = ["SIZES", "correlation_dots", "inputs", "reference"]
