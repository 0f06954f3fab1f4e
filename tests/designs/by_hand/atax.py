"""atax: both products sweep A in tiles of its banks, one after the other on the same units."""

from __future__ import annotations

import allo
from allo.customize import Schedule
from allo.designs.polybench.products.atax import SIZES, atax, inputs, reference
from allo.ir.types import float32

from .tiles.products import DISTANCE, bank, matrix_vector, spread, tile


def schedule(size: tuple[int, ...], pairs: int) -> Schedule:
    """Sums along rows are trees; two additions to one element lie a column or a row of tiles apart."""
    rows, columns = tile(pairs, *size, along=DISTANCE)
    s = allo.customize(atax, instantiate=[float32, *size])
    matrix_vector(s, "add_product", ("i", rows), ("j", columns))
    matrix_vector(s, "add_transposed_product", ("j", columns), ("i", rows))
    s.unroll("atax:j", factor=spread(columns, size[1]))
    s.pipeline("atax:j")
    bank(s, s.A, rows, columns)
    bank(s, s.tmp, spread(rows, size[0]))
    bank(s, s.x, columns)
    bank(s, s.y, spread(columns, size[1]))
    return s


def operations(size: tuple[int, ...]) -> int:
    """Float multiplications and additions of one run."""
    M, N = size
    return 4 * M * N


__all__ = ["SIZES", "inputs", "operations", "reference", "schedule"]
