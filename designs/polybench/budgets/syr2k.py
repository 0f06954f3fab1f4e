"""syr2k: k outermost in groups; for each group every piece of every row of the triangle, one a cycle."""

from __future__ import annotations

import allo
from allo.customize import Schedule
from allo.ir.types import float32

from ..blas.syr2k import SIZES, inputs, reference, syr2k
from .tiles import bank, row_updates, scaled_rows, triangle_tiles


def schedule(size: tuple[int, ...], pairs: int) -> Schedule:
    """Four multiplications a term; an element takes the terms of a group of k at once, as a tree."""
    M, N = size
    lanes, terms = triangle_tiles(pairs, N, M, lambda lanes, terms: 4 * lanes * terms)
    s = allo.customize(syr2k, instantiate=[float32, M, N])
    row_updates(s, "add_rank_2_update", lanes, terms, scaled_rows(N, terms))
    bank(s, s.A, lanes, terms)
    bank(s, s.B, lanes, terms)
    return s


def operations(size: tuple[int, ...]) -> int:
    """Float multiplications and additions of one run."""
    M, N = size
    return (6 * M + 1) * N * (N + 1) // 2


__all__ = ["SIZES", "inputs", "operations", "reference", "schedule"]
