"""Systolic matrix-vector product: eight cells in a row, the vector flows through.

Cell i holds row i of the matrix. It takes an element of the vector from its left neighbour, multiplies
it with its own element, adds, and hands the vector's element on to the right. So an element enters at
the left in every cycle, and cell i works i cycles behind cell 0.

Hardware: eight processes, each with a multiplier, an accumulator and its row in a bank of memory, joined
by FIFOs. No wire is longer than from one cell to the next, however many there are.

Interval: nothing holds it up: each cell takes an element in every cycle. Beside the 64 elements, a run
takes the way through the eight cells.

Source: H. T. Kung and C. E. Leiserson, Systolic Arrays (for VLSI), 1978.

Used in: neural networks, beam forming
"""

from __future__ import annotations

import numpy as np

import allo
import allo.dataflow as df
from allo.customize import Schedule
from allo.ir.types import Stream, int16, int32

ROWS, COLUMNS = 8, 64


@df.region()
def systolic_matvec(A: int16[ROWS, COLUMNS], X: int16[COLUMNS], Y: int32[ROWS]):
    """``Y = A @ X``, a process for each row of ``A``; sums wrap at 32 bits."""
    along: Stream[int16, 2][ROWS]
    sums: Stream[int32, 2][ROWS]

    @df.kernel(mapping=[1], args=[X])
    def feed(x: int16[COLUMNS]):
        for f in range(COLUMNS):
            along[0].put(x[f])

    @df.kernel(mapping=[ROWS], args=[A])
    def cell(a: int16[ROWS, COLUMNS]):
        i = df.get_pid()
        total: int32 = 0
        for k in range(COLUMNS):
            element: int16 = along[i].get()
            total += a[i, k] * element
            with allo.meta_if(i < ROWS - 1):
                along[i + 1].put(element)
        sums[i].put(total)

    @df.kernel(mapping=[1], args=[Y])
    def collect(y: int32[ROWS]):
        with allo.meta_for(ROWS) as r:
            y[r] = sums[r].get()


def schedule() -> Schedule:
    """An element a cycle in every process; a row of A a bank."""
    s = df.customize(systolic_matvec)
    s.pipeline("feed_0:f")
    for i in range(ROWS):
        s.pipeline(f"cell_{i}:k")
    s.partition(s.A, dim=1)
    return s


def inputs(rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    """A random matrix and a random vector."""
    matrix = rng.integers(-(2**12), 2**12, (ROWS, COLUMNS), np.int16)
    return matrix, rng.integers(-(2**12), 2**12, COLUMNS, np.int16), np.zeros(ROWS, np.int32)


def reference(A: np.ndarray, X: np.ndarray, Y: np.ndarray) -> None:
    """NumPy's product."""
    Y[:] = A.astype(np.int64) @ X
