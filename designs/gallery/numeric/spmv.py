"""Sparse matrix times vector: a nonzero a cycle, whatever the rows' lengths.

The nonzeros come row by row, each with its column and a bit that marks the last of its row. A sum is
carried along; where the bit is set it is handed out and begins again at zero. Every row has at least one
entry, which may be zero.

Hardware: one multiplier, an adder with its register, and a memory with the vector. As the end of a row
is a bit beside the data, and not the bound of a loop, short rows cost no more than long ones.

Interval: nothing holds it up: the sum's recurrence is one integer addition. A sum in floating point
would take as many cycles as its adder has stages.

Source: G. E. Blelloch, M. A. Heroux and M. Zagha, Segmented Operations for Sparse Matrix Computation on
Vector Multiprocessors, 1993.

Used in: graph analytics, finite elements, pruned neural networks
"""

from __future__ import annotations

import numpy as np

import allo
from allo.customize import Schedule
from allo.ir.types import int16, int32, uint1, uint8

ROWS, COLUMNS, NONZEROS = 64, 256, 512


def spmv(
    value: int16[NONZEROS],
    column: uint8[NONZEROS],
    last: uint1[NONZEROS],
    vector: int16[COLUMNS],
    out: int32[ROWS],
):
    """``out = matrix @ vector`` of a sparse matrix, given entry by entry in the order of its rows.

    Entry ``n`` is ``value[n]`` in column ``column[n]``, and ``last[n]`` is 1 where it ends its row. Each of
    the ``ROWS`` rows ends once. Sums wrap at 32 bits.
    """
    total: int32 = 0
    row: uint8 = 0
    for n in range(NONZEROS):
        total += value[n] * vector[column[n]]
        if last[n] == 1:
            out[row] = total
            row += 1
            total = 0


def schedule() -> Schedule:
    """A nonzero a cycle."""
    s = allo.customize(spmv)
    s.pipeline("n")
    return s


def inputs(rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    """Rows of random lengths, at least one."""
    value = rng.integers(-(2**10), 2**10, NONZEROS, np.int16)
    column = rng.integers(0, COLUMNS, NONZEROS, np.uint8)
    last = np.zeros(NONZEROS, np.bool_)
    last[rng.choice(NONZEROS - 1, ROWS - 1, replace=False)] = True
    last[-1] = True
    vector = rng.integers(-(2**10), 2**10, COLUMNS, np.int16)
    return value, column, last, vector, np.zeros(ROWS, np.int32)


def reference(
    value: np.ndarray, column: np.ndarray, last: np.ndarray, vector: np.ndarray, out: np.ndarray
) -> None:
    """A dense matrix times the vector."""
    dense = np.zeros((ROWS, COLUMNS), np.int64)
    row = np.concatenate([[0], np.cumsum(last, dtype=np.int64)[:-1]])
    np.add.at(dense, (row, column), value)
    out[:] = dense @ vector
