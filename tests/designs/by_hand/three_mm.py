"""3mm: three products on the same units, a tile a cycle; the next is cleared while one drains."""

from __future__ import annotations

import allo
from allo.customize import Schedule
from allo.designs.polybench.products.three_mm_nests import SIZES, inputs, reference, three_mm_nests
from allo.ir.types import float32

from .tiles.products import bank, clear, outer_products, product_tiles


def schedule(size: tuple[int, ...], pairs: int) -> Schedule:
    """The third product reads rows of the one and columns of the other that were computed at once."""
    P, R, Q, T, S = size
    tiles = product_tiles(pairs, P, T, R, (0, R, Q), (1, R, S), around=0.5)
    terms, rows, columns, across, down = tiles
    s = allo.customize(three_mm_nests, instantiate=[float32, *size])
    for name, extents, t, u in (
        ("cd", (R, T), down, columns),
        ("ab", (P, R), rows, across),
        ("rows", (P, T), rows, columns),
    ):
        outer_products(s, "three_mm_nests", name, t, u, terms)
        clear(s, "three_mm_nests", f"clear_{name}", extents, t, u)
    for array, factors in (
        (s.A, (rows, terms)),
        (s.B, (terms, across)),
        (s.AB, (rows, across)),
        (s.C, (down, terms)),
        (s.D, (terms, columns)),
        (s.CD, (down, columns)),
        (s.G, (rows, columns)),
    ):
        bank(s, array, *factors)
    return s


def operations(size: tuple[int, ...]) -> int:
    """Float multiplications and additions of one run."""
    P, R, Q, T, S = size
    return 2 * (P * R * Q + R * T * S + P * T * R)


__all__ = ["SIZES", "inputs", "operations", "reference", "schedule"]
