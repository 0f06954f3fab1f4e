"""Insertion-sort queue: the 16 smallest keys of a stream, a key a cycle.

A row of cells holds the smallest keys so far in order. A new key is shown to all cells at once: a cell
whose left neighbour holds a larger one takes that, a cell that is the first to hold a larger one takes
the new key, and all others keep theirs.

Hardware: 16 registers, each with a comparator and a multiplexer that knows its neighbour's answer.

Interval: nothing holds it up. Every cell needs one comparison with the last contents, however many cells
there are.

Source: D. E. Knuth, The Art of Computer Programming, volume 3, section 5.2.1, made a systolic queue as
in C. E. Leiserson, Systolic Priority Queues, 1979.

Used in: nearest neighbours, schedulers, top-k of a classifier
"""

from __future__ import annotations

import numpy as np

import allo
from allo.customize import Schedule
from allo.ir.types import uint16

N, CELLS = 256, 16


def insertion_queue(keys: uint16[N]) -> uint16[CELLS]:
    """The ``CELLS`` smallest of ``N`` keys in order, the smallest first."""
    cell: uint16[CELLS] = 65535
    smallest: uint16[CELLS]
    for n in range(N):
        key: uint16 = keys[n]
        for c in range(CELLS - 1, 0, -1):
            if cell[c - 1] > key:
                cell[c] = cell[c - 1]
            elif cell[c] > key:
                cell[c] = key
        if cell[0] > key:
            cell[0] = key
    for out in range(CELLS):
        smallest[out] = cell[out]
    return smallest


def schedule() -> Schedule:
    """A key a cycle: all cells at once."""
    s = allo.customize(insertion_queue)
    s.pipeline("n")
    s.pipeline("out")
    s.partition(s.cell)
    return s


def inputs(rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    """Random keys, close enough that some are equal."""
    return (rng.integers(0, 2**10, N, np.uint16),)


def reference(keys: np.ndarray) -> np.ndarray:
    """NumPy's sort, cut off."""
    return np.sort(keys)[:CELLS]
