"""correlation: whole columns swept, then a tile of half of the symmetric product at once."""

from __future__ import annotations

from math import ceil, lcm

import allo
from allo.customize import Schedule
from allo.ir.types import float32

from ..datamining.correlation_dots import SIZES, correlation_dots, inputs, reference
from .tiles.dots import dot_tiles, swept_columns, triangle_of_dots
from .tiles.products import bank


def schedule(size: tuple[int, ...], pairs: int) -> Schedule:
    """No two iterations write one element of corr: an element and its mirror image are written once."""
    M, N = size
    down, across, interval = dot_tiles(pairs - 4, M, N, sweeps=4)
    few = swept_columns(down * across, M, N, pairs)
    s = allo.customize(correlation_dots, instantiate=[float32, *size])
    for band, sweeps in (("mean", 1), ("deviation", 2), ("standardise", 1)):
        every = sweeps * ceil(few * interval / (down * across))
        s.unroll(s.get_loops("standardise_columns")[band]["j"], factor=few)
        s.pipeline(s.get_loops("standardise_columns")[band]["j"], initiation_interval=every)
        if band != "standardise":
            s.rebalance(s.get_loops("standardise_columns")[band]["i"])
    triangle_of_dots(s, "correlate", down, across, interval)
    for loop in ("i.outer" if down > 1 else "i", "j"):
        s.dependence("correlate:corr", f"correlate:{loop}")
    bank(s, s.data, N, lcm(across, few))
    bank(s, s.corr, across, across)
    bank(s, s.mean, few)
    bank(s, s.stddev, few)
    return s


def operations(size: tuple[int, ...]) -> int:
    """Float operations of one run: those of a sweep for each word, and of half of the product."""
    M, N = size
    return M * (M - 1) * N + M * (6 * N + 6)


__all__ = ["SIZES", "inputs", "operations", "reference", "schedule"]
