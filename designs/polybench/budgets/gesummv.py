"""gesummv: the products by A and B, in turn or each on half of the units, then their weighted sum."""

from __future__ import annotations

import allo
from allo.customize import Schedule
from allo.ir.types import float32

from ..blas.gesummv import SIZES, gesummv, inputs, reference
from .tiles.products import DISTANCE, bank, matrix_vector, tile, two_products


def schedule(size: tuple[int, ...], pairs: int) -> Schedule:
    """Sums along rows are trees; two additions to one element lie a column of tiles apart."""
    N = size[0]
    rows, columns, at_once = two_products(pairs, N, N, ragged=True)
    left = pairs - 2 * rows * columns
    lanes = [d for d in range(1, rows + 1) if rows % d == 0 and 2 * d <= left]
    if not (at_once and lanes):
        at_once, (rows, columns) = False, tile(pairs, N, N, along=DISTANCE, ragged=True)
    s = allo.customize(gesummv, instantiate=[float32, N])
    for name in ("A", "B"):
        matrix_vector(s, f"add_product_{name}", ("i", rows), ("j", columns))
        bank(s, getattr(s, name), rows, columns)
        bank(s, getattr(s, f"{name}x"), rows)
    s.unroll("gesummv:i", factor=lanes[-1] if at_once else rows)
    s.pipeline("gesummv:i")
    bank(s, s.x, columns)
    bank(s, s.y, rows)
    if at_once:
        s.dataflow("gesummv")
    return s


def operations(size: tuple[int, ...]) -> int:
    """Float multiplications and additions of one run."""
    N = size[0]
    return 4 * N * N + 3 * N


__all__ = ["SIZES", "inputs", "operations", "reference", "schedule"]
