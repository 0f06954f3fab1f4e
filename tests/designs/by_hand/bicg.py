"""bicg: both products sweep A in tiles of its banks, in turn on the same units or each on half of them."""

from __future__ import annotations

import allo
from allo.customize import Schedule
from allo.designs.polybench.products.bicg import SIZES, bicg, inputs, reference
from allo.ir.types import float32

from .tiles.products import bank, matrix_vector, spread, two_products


def schedule(size: tuple[int, ...], pairs: int) -> Schedule:
    """Sums along rows are trees; two additions to one element lie a column or a row of tiles apart."""
    M, N = size
    rows, columns, at_once = two_products(pairs, N, M)
    s = allo.customize(bicg, instantiate=[float32, *size])
    matrix_vector(s, "add_transposed_product", ("j", columns), ("i", rows))
    matrix_vector(s, "add_product", ("i", rows), ("j", columns))
    for loop, vector, factor in (
        ("bicg:i", s.s, spread(columns, M)),
        ("bicg:j", s.q, spread(rows, N)),
    ):
        s.unroll(loop, factor=factor)
        s.pipeline(loop)
        bank(s, vector, factor)
    bank(s, s.A, rows, columns)
    bank(s, s.p, columns)
    bank(s, s.r, rows)
    if at_once:
        s.dataflow("bicg")
    return s


def operations(size: tuple[int, ...]) -> int:
    """Float multiplications and additions of one run."""
    M, N = size
    return 4 * M * N


__all__ = ["SIZES", "inputs", "operations", "reference", "schedule"]
