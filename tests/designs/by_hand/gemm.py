"""gemm: a tile of the product a cycle, k outermost; then the weighted sum in the same tiles."""

from __future__ import annotations

import allo
from allo.customize import Schedule
from allo.designs.polybench.blas.gemm import SIZES, gemm, inputs, reference

from .tiles.products import bank, outer_products, product_tiles, sweep


def schedule(size: tuple[int, ...], pairs: int) -> Schedule:
    """Two terms of an element at once, on two multipliers, which then weigh it and the old value."""
    P, Q, R = size
    terms, rows, columns = product_tiles(pairs, P, R, Q, around=1)
    s = allo.customize(gemm, instantiate=[*size])
    outer_products(s, "product", "product", rows, columns, terms)
    sweep(s, "scale_sum", "scale", rows, columns, interval=2 if terms == 1 else 1)
    bank(s, s.A, rows, terms)
    bank(s, s.B, terms, columns)
    for array in (s.C, s.AB, "scale_sum:out"):
        bank(s, array, rows, columns)
    return s


def operations(size: tuple[int, ...]) -> int:
    """Float multiplications and additions of one run."""
    P, Q, R = size
    return 2 * P * Q * R + 3 * P * R


__all__ = ["SIZES", "inputs", "operations", "reference", "schedule"]
