"""2mm: two products on the same units, a tile a cycle, k outermost; then the weighted sum."""

from __future__ import annotations

import allo
from allo.customize import Schedule
from allo.designs.polybench.products.two_mm import SIZES, inputs, reference, two_mm

from .tiles.products import bank, outer_products, product_tiles, sweep


def schedule(size: tuple[int, ...], pairs: int) -> Schedule:
    """The rows of the first product that are computed at once are those that the second one reads."""
    P, R, Q, S = size
    terms, rows, columns, middle = product_tiles(pairs, P, S, R, (0, R, Q), around=1)
    s = allo.customize(two_mm, instantiate=[*size])
    outer_products(s, "product_ab", "product", rows, middle, terms)
    outer_products(s, "product_abc", "product", rows, columns, terms)
    sweep(s, "scale_sum", "scale", rows, columns, interval=2 if terms == 1 else 1)
    bank(s, s.A, rows, terms)
    bank(s, s.B, terms, middle)
    bank(s, s.AB, rows, middle)
    bank(s, s.C, terms, columns)
    for array in (s.ABC, s.D, "scale_sum:out"):
        bank(s, array, rows, columns)
    return s


def operations(size: tuple[int, ...]) -> int:
    """Float multiplications and additions of one run."""
    P, R, Q, S = size
    return 2 * P * R * (Q + S) + 3 * P * S


__all__ = ["SIZES", "inputs", "operations", "reference", "schedule"]
