"""gemm: a tile of the product a cycle, k outermost; then the weighted sum in the same tiles."""

from __future__ import annotations

import allo
from allo.customize import Schedule

from ..blas.gemm import SIZES, gemm, inputs, reference
from .tiles import DISTANCE, bank, outer_products, tile


def schedule(size: tuple[int, ...], pairs: int) -> Schedule:
    """Two multiplications of an element of the weighted sum take turns on its pair's multiplier."""
    P, _, R = size
    rows, columns = tile(pairs, P, R, around=DISTANCE)
    s = allo.customize(gemm, instantiate=[*size])
    outer_products(s, "product", rows, columns)
    s.split("scale_sum:i", rows)
    s.split("scale_sum:j", columns)
    s.reorder("scale_sum:j.outer", "scale_sum:i.inner", "scale_sum:j.inner")
    s.pipeline("scale_sum:j.outer", initiation_interval=2)
    bank(s, s.A, rows)
    bank(s, s.B, 1, columns)
    for array in (s.C, s.AB, "scale_sum:out"):
        bank(s, array, rows, columns)
    return s


def operations(size: tuple[int, ...]) -> int:
    """Float multiplications and additions of one run."""
    P, Q, R = size
    return 2 * P * Q * R + 3 * P * R


__all__ = ["SIZES", "inputs", "operations", "reference", "schedule"]
