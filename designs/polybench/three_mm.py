"""PolyBench 3mm: ``G = (A @ B) @ (C @ D)``."""

from __future__ import annotations

import numpy as np

import allo
from allo.customize import Schedule
from allo.ir.types import AlloType, float32, int32

from .arguments import normal
from .product import reference_product

# P, R, Q, T, S.
SIZES = {
    "tiny": (3, 4, 5, 6, 7),
    "mini": (16, 18, 20, 22, 24),
    "small": (40, 50, 60, 70, 80),
    "medium": (180, 190, 200, 210, 220),
}
LANES = 2


def mm1[E: (float32, int32), P, Q, R](A: E[P, Q], B: E[Q, R], AB: E[P, R]):
    """``AB = A @ B``."""
    for i0, j0 in allo.grid(P, R, name="clear"):
        AB[i0, j0] = 0
    for i, j in allo.grid(P, R, name="mm1"):
        for k in allo.reduction(Q):
            AB[i, j] += A[i, k] * B[k, j]


def mm2[E: (float32, int32), R, S, T](C: E[R, S], D: E[S, T], CD: E[R, T]):
    """``CD = C @ D``."""
    for i0, j0 in allo.grid(R, T, name="clear"):
        CD[i0, j0] = 0
    for i, j in allo.grid(R, T, name="mm2"):
        for k in allo.reduction(S):
            CD[i, j] += C[i, k] * D[k, j]


def mm3[E: (float32, int32), P, R, T](AB: E[P, R], CD: E[R, T], G: E[P, T]):
    """``G = AB @ CD``, the rows of CD read into a memory of its own."""
    rows: E[R, T]
    for k0, j0 in allo.grid(R, T, name="load"):
        rows[k0, j0] = CD[k0, j0]
    for i0, j1 in allo.grid(P, T, name="clear"):
        G[i0, j1] = 0
    for i, j in allo.grid(P, T, name="mm3"):
        for k in allo.reduction(R):
            G[i, j] += AB[i, k] * rows[k, j]


def three_mm[E: (float32, int32), P, R, Q, T, S](
    A: E[P, Q], B: E[Q, R], C: E[R, S], D: E[S, T], G: E[P, T]
):
    """``G = (A @ B) @ (C @ D)``."""
    AB: E[P, R]
    CD: E[R, T]
    mm1[E, P, Q, R](A, B, AB)
    mm2[E, R, S, T](C, D, CD)
    mm3[E, P, R, T](AB, CD, G)


def _row_engine(s: Schedule, band: str, result: str) -> Schedule:
    """One row of the result at a time, in a buffer, k outside j."""
    loops = s.get_loops()[band]
    s.reorder(loops.k, loops.j)
    s.buffer_at(getattr(s, result), axis=s.get_loops()[band].i)
    s.pipeline(s.get_loops()[band].j)
    return s


def schedule(size: tuple[int, ...], element: AlloType = float32) -> Schedule:
    """Three row engines in a pipeline of FIFOs: the third starts while the others still multiply."""
    P, R, Q, T, S = size
    first = allo.customize(mm1, instantiate=[element, P, Q, R])
    second = allo.customize(mm2, instantiate=[element, R, S, T])
    third = allo.customize(mm3, instantiate=[element, P, R, T])
    third.pipeline("j0")
    s = allo.customize(three_mm, instantiate=[element, *size])
    s.compose(
        [
            _row_engine(first, "mm1", "AB"),
            _row_engine(second, "mm2", "CD"),
            _row_engine(third, "mm3", "G"),
        ]
    )
    s.to(s.AB, "mm3", depth=2 * R)
    s.to(s.CD, "mm3", depth=2 * T)
    s.dataflow("three_mm")
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
