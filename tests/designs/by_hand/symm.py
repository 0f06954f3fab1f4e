"""symm: a tile of the product a cycle, k outermost; then the weighted sum in the same tiles."""

from __future__ import annotations

import allo
from allo.customize import Schedule
from allo.designs.polybench.blas.symm_product import SIZES, inputs, reference, symm_product
from allo.ir.types import float32

from .tiles.products import bank, outer_products, product_tiles, sweep


def schedule(size: tuple[int, ...], pairs: int) -> Schedule:
    """A tile of A is read along its rows below the diagonal, and along its columns above: banks in both."""
    M, N = size
    terms, rows, columns = product_tiles(pairs, M, N, M, around=1, turned=True)
    s = allo.customize(symm_product, instantiate=[float32, M, N])
    outer_products(s, "symmetric_product", "product", rows, columns, terms)
    sweep(s, "scale_sum", "scale", rows, columns, interval=2 if terms == 1 else 1)
    bank(s, s.A, rows, rows)
    bank(s, s.B, terms, columns)
    for array in (s.C, s.AB, "scale_sum:out"):
        bank(s, array, rows, columns)
    return s


def operations(size: tuple[int, ...]) -> int:
    """Float multiplications and additions of one run."""
    M, N = size
    return 2 * M * M * N + 3 * M * N


__all__ = ["SIZES", "inputs", "operations", "reference", "schedule"]
