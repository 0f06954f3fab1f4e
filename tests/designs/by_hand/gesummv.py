"""gesummv: tiles of A and B at once, down the columns; then the weighted sum on the same units."""

from __future__ import annotations

import allo
from allo.customize import Schedule
from allo.designs.polybench.blas.gesummv_rows import SIZES, gesummv_rows, inputs, reference
from allo.ir.types import float32

from .tiles.products import bank, dots_tile

WEIGHED = 4
"""How many tiles are cleared, and weighed, at once at most."""


def schedule(size: tuple[int, ...], pairs: int) -> Schedule:
    """Sums along rows are trees; two additions to one element lie a column of tiles apart."""
    N = size[0]
    rows, columns = dots_tile(max(1, pairs // 2), N, N)
    lanes = rows * max(1, min(WEIGHED, columns, N // rows))
    s = allo.customize(gesummv_rows, instantiate=[float32, N])
    for loop, size_of in (("i", rows), ("j", columns)):
        s.split(s.get_loops()["products"][loop], size_of)
    nest = s.get_loops()["products"]
    s.reorder(*(nest[name] for name in ("j.outer", "i.outer", "i.inner", "j.inner")))
    s.pipeline(s.get_loops()["products"]["i.outer"])
    s.rebalance(s.get_loops()["products"]["j.inner"])
    s.unroll(s.get_loops()["sum"]["i"], factor=lanes)
    s.pipeline(s.get_loops()["sum"]["i"])
    for array, factors in ((s.A, (rows, columns)), (s.B, (rows, columns)), (s.x, (columns,))):
        bank(s, array, *factors)
    for array in (s.Ax, s.Bx, s.y):
        bank(s, array, lanes)
    return s


def operations(size: tuple[int, ...]) -> int:
    """Float multiplications and additions of one run."""
    N = size[0]
    return 4 * N * N + 3 * N


__all__ = ["SIZES", "inputs", "operations", "reference", "schedule"]
