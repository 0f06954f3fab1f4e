"""PolyBench 3mm: ``G = (A @ B) @ (C @ D)``."""

from __future__ import annotations

import numpy as np

import allo
from allo.customize import Schedule
from allo.ir.types import AlloType, float32, int32

from ..arguments import normal
from ..product import product, reference_product, schedule_product

# P, R, Q, T, S.
SIZES = {
    "tiny": (3, 4, 5, 6, 7),
    "mini": (16, 18, 20, 22, 24),
    "small": (40, 50, 60, 70, 80),
    "medium": (180, 190, 200, 210, 220),
}
LANES = 2


def add_product_rows[E: (float32, int32), P, R, T](AB: E[P, R], CD: E[R, T], G: E[P, T]):
    """``G = AB @ CD``."""
    for i, j in allo.grid(P, T, name="clear"):
        G[i, j] = 0
    for i, j in allo.grid(P, T, name="rows"):
        for k in allo.reduction(R):
            G[i, j] += AB[i, k] * CD[k, j]


def three_mm[E: (float32, int32), P, R, Q, T, S](
    A: E[P, Q], B: E[Q, R], C: E[R, S], D: E[S, T], G: E[P, T]
):
    """``G = (A @ B) @ (C @ D)``."""
    CD = product[E, E, R, T, S, "cd"](C, D)
    AB = product[E, E, P, R, Q, "ab"](A, B)
    add_product_rows[E, P, R, T](AB, CD, G)


def schedule(size: tuple[int, ...], element: AlloType = float32) -> Schedule:
    """Three row engines; rows of ``A @ B`` go to the third through a FIFO."""
    P, R, Q, T, S = size
    last = allo.customize(add_product_rows, instantiate=[element, P, R, T])
    loops = last.get_loops()
    last.pipeline(loops.clear.j)
    last.reorder(loops.rows.k, loops.rows.j)
    last.buffer_at(last.G, axis=loops.rows.i)
    last.pipeline(last.get_loops().rows.j)
    s = allo.customize(three_mm, instantiate=[element, *size])
    s.compose(schedule_product(element, element, (P, R, Q), LANES), id="ab")
    s.compose(schedule_product(element, element, (R, T, S), LANES), id="cd")
    s.compose(last)
    s.to(s.AB, "add_product_rows", depth=2 * R)
    return s


def inputs(rng: np.random.Generator, size: tuple[int, ...]) -> tuple[np.ndarray, ...]:
    """Random A, B, C and D; G is overwritten."""
    P, R, Q, T, S = size
    return normal(rng, (P, Q), (Q, R), (R, S), (S, T), (P, T))


def reference(A: np.ndarray, B: np.ndarray, C: np.ndarray, D: np.ndarray, G: np.ndarray) -> None:
    """The kernel in NumPy."""
    AB = reference_product(A, B, np.float32)
    CD = reference_product(C, D, np.float32)
    G[:] = reference_product(AB, CD, np.float32)
