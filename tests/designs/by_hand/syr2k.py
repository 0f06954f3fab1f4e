"""syr2k: a tile of the triangle at once, each element the tree of two whole dot products."""

from __future__ import annotations

import allo
from allo.customize import Schedule
from allo.designs.polybench.blas.syr2k_dots import SIZES, inputs, reference, syr2k_dots
from allo.ir.types import float32

from .tiles.dots import dot_tiles, triangle_of_dots
from .tiles.products import bank


def schedule(size: tuple[int, ...], pairs: int) -> Schedule:
    """Two multiplications of an element are those by alpha and beta."""
    M, N = size
    down, across, interval = dot_tiles(pairs, N, 2 * M + 2)
    s = allo.customize(syr2k_dots, instantiate=[float32, M, N])
    triangle_of_dots(s, "syr2k_dots", down, across, interval)
    for matrix in (s.A, s.B):
        bank(s, matrix, across, M)
    bank(s, s.C, down, across)
    return s


def operations(size: tuple[int, ...]) -> int:
    """Float multiplications and additions of one run."""
    M, N = size
    return (4 * M + 2) * N * (N + 1) // 2


__all__ = ["SIZES", "inputs", "operations", "reference", "schedule"]
