"""correlation: sweeps of a few columns at once, then a tile of the products a cycle, k outermost."""

from __future__ import annotations

import allo
from allo.customize import Schedule
from allo.ir.types import float32

from ..columns import column_mean, schedule_columns
from ..datamining.correlation import SIZES, column_deviation, correlation, inputs, reference
from .tiles import bank, outer_products, sweeping_tiles


def schedule(size: tuple[int, ...], pairs: int) -> Schedule:
    """Dividers are dear: the sweeps take at most one in ten of the pairs."""
    M, N = size
    rows, columns, few, at_once = sweeping_tiles(pairs, M, N)
    s = allo.customize(correlation, instantiate=[float32, *size])
    s.compose([schedule_columns(kernel, size) for kernel in (column_mean, column_deviation)])
    for function in ("column_mean", "column_deviation"):
        for band in ("clear", "sum"):
            s.unroll(s.get_loops(function)[band]["j"], factor=few)
    sweeps = {"S_i_j_0": ("standardise", few), "transpose": ("correlation", at_once)}
    for band, (function, lanes) in (sweeps | {"result": ("correlation", columns)}).items():
        s.unroll(s.get_loops(function)[band]["j"], factor=lanes)
        s.pipeline(s.get_loops(function)[band]["j"])
    outer_products(s, "product", "product", rows, columns)
    bank(s, s.columns, rows)
    bank(s, s.data, 1, columns)
    bank(s, s.products, rows, columns)
    bank(s, s.corr, rows, columns)
    bank(s, s.mean, few)
    bank(s, s.stddev, few)
    return s


def operations(size: tuple[int, ...]) -> int:
    """Float multiplications and additions of one run."""
    M, N = size
    return M * (2 * N * M + 8 * N + 3)


__all__ = ["SIZES", "inputs", "operations", "reference", "schedule"]
