"""correlation: whole columns swept, then a tile of half of the symmetric product at once."""

from __future__ import annotations

from math import ceil, lcm

import allo
from allo.customize import Schedule
from allo.designs.polybench.datamining.correlation_dots import (
    SIZES,
    correlation_dots,
    inputs,
    reference,
)
from allo.ir.types import float32

from .tiles.dots import dot_tiles, swept_columns, triangle_of_dots
from .tiles.products import bank


def schedule(size: tuple[int, ...], pairs: int) -> Schedule:
    """No two iterations write one element of corr: an element and its mirror image are written once."""
    M, N = size
    down, across, interval = dot_tiles(pairs - 4, M, N, sweeps=4)
    few = swept_columns(down * across, M, N, pairs)
    s = allo.customize(correlation_dots, instantiate=[float32, *size])
    for band, sweeps in (("mean", 1), ("deviation", 2), ("standardise", 1)):
        column, row = (s.get_loops()[band][name] for name in ("column", "row"))
        s.unroll(column, factor=few)
        s.pipeline(column, initiation_interval=sweeps * ceil(few * interval / (down * across)))
        if band != "standardise":
            s.rebalance(row)
    triangle_of_dots(s, "correlation_dots", down, across, interval)
    for loop in ("i.outer" if down > 1 else "i", "j"):
        s.dependence("correlation_dots:corr", f"correlation_dots:{loop}")
    bank(s, s.data, N, lcm(across, few))
    bank(s, s.corr, across, across)
    bank(s, s.mean, few)
    bank(s, s.stddev, few)
    return s


def operations(size: tuple[int, ...]) -> int:
    """Float operations of one run: those of the sweeps for each column, and of half of the product."""
    M, N = size
    return M * (M - 1) // 2 * (2 * N - 1) + M * (6 * N + 2)


__all__ = ["SIZES", "inputs", "operations", "reference", "schedule"]
