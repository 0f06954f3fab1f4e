"""mvt: both products at once, each on half of the units and one port of every bank of A."""

from __future__ import annotations

import allo
from allo.customize import Schedule
from allo.designs.polybench.products.mvt import SIZES, inputs, mvt, reference
from allo.ir.types import float32

from .tiles.products import DISTANCE, bank, matrix_vector, tile


def schedule(size: tuple[int, ...], pairs: int) -> Schedule:
    """Sums along rows are trees; two additions to one element lie a column or a row of tiles apart."""
    N = size[0]
    rows, columns = tile(pairs // 2, N, N, along=DISTANCE)
    s = allo.customize(mvt, instantiate=[float32, N])
    matrix_vector(s, "add_product", ("i", rows), ("j", columns))
    matrix_vector(s, "add_transposed_product", ("j", columns), ("i", rows))
    bank(s, s.A, rows, columns)
    for vector, factor in ((s.x1, rows), (s.y1, columns), (s.x2, columns), (s.y2, rows)):
        bank(s, vector, factor)
    s.dataflow("mvt")
    return s


def operations(size: tuple[int, ...]) -> int:
    """Float multiplications and additions of one run."""
    return 4 * size[0] ** 2


__all__ = ["SIZES", "inputs", "operations", "reference", "schedule"]
