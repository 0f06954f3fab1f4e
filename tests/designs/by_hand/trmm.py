"""trmm: rows of B in groups, the last first; each is added to every row above its last, a piece a cycle."""

from __future__ import annotations

import allo
from allo.customize import Schedule
from allo.designs.polybench.blas.trmm_product import SIZES, inputs, reference, trmm_product
from allo.ir.types import float32

from .tiles.products import bank, rows_above


def schedule(size: tuple[int, ...], pairs: int) -> Schedule:
    """An element takes the products of a group of k at once, as a tree; below the diagonal they are zero."""
    M, N = size
    lanes, terms = rows_above(pairs, M, N)
    s = allo.customize(trmm_product, instantiate=[float32, M, N])
    s.reorder("rows_below:k", "rows_below:i", "rows_below:j")
    s.split("rows_below:k", terms)
    s.reorder("rows_below:k.outer", "rows_below:i", "rows_below:j", "rows_below:k.inner")
    s.unroll("rows_below:j", factor=lanes)
    s.pipeline("rows_below:j", rewind=True)
    s.rebalance("rows_below:k.inner")
    s.split("trmm_product:i", terms)
    s.reorder("trmm_product:j", "trmm_product:i.inner")
    s.unroll("trmm_product:j", factor=lanes)
    s.pipeline("trmm_product:j")
    bank(s, s.A, terms)
    bank(s, s.B, terms, lanes)
    bank(s, s.below, terms, lanes)
    return s


def operations(size: tuple[int, ...]) -> int:
    """Float multiplications and additions of one run."""
    M, N = size
    return M * (M - 1) * N + 2 * M * N


__all__ = ["SIZES", "inputs", "operations", "reference", "schedule"]
