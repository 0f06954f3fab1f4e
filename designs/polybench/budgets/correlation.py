"""correlation: sweeps of a few columns at once, then a tile of the products a cycle, k outermost."""

from __future__ import annotations

import allo
from allo.customize import Schedule
from allo.ir.types import float32

from ..datamining.correlation import SIZES, correlation, inputs, reference
from .tiles import bank, outer_products, product_tiles


def schedule(size: tuple[int, ...], pairs: int) -> Schedule:
    """Dividers are dear: the sweeps take one in ten of the pairs."""
    M, N = size
    few = max(1, pairs // 10)
    rows, columns = product_tiles(pairs - few, M, M, N)
    few = max(d for d in range(1, few + 1) if columns % d == 0)
    s = allo.customize(correlation, instantiate=[float32, *size])
    for function in ("column_mean", "column_deviation"):
        loops = s.get_loops(function)
        s.reorder(loops["sum"]["i"], loops["sum"]["j"])
        s.unroll(s.get_loops(function)["sum"]["j"], factor=few)
        for band in ("clear", "sum", "finish"):
            s.pipeline(s.get_loops(function)[band]["j"])
    for function, band, lanes in (
        ("standardise", "S_i_j_0", few),
        ("correlation", "transpose", few),
        ("correlation", "result", columns),
    ):
        s.unroll(s.get_loops(function)[band]["j"], factor=lanes)
        s.pipeline(s.get_loops(function)[band]["j"])
    outer_products(s, "product", "product", rows, columns)
    bank(s, s.columns, rows)
    bank(s, s.data, 1, columns)
    for array in (s.products, s.corr):
        bank(s, array, rows, columns)
    bank(s, s.mean, few)
    bank(s, s.stddev, few)
    return s


def operations(size: tuple[int, ...]) -> int:
    """Float multiplications and additions of one run."""
    M, N = size
    return M * (2 * N * M + 8 * N + 3)


__all__ = ["SIZES", "inputs", "operations", "reference", "schedule"]
