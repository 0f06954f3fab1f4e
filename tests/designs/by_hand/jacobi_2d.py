"""jacobi-2d: both sweeps keep three rows in line buffers, and compute neighbours in a row side by side."""

from __future__ import annotations

import allo
from allo.customize import Schedule
from allo.designs.polybench.stencils.jacobi_2d import SIZES, average5, inputs, jacobi_2d, reference
from allo.ir.types import float32

from .tiles.products import bank


def schedule(size: tuple[int, ...], pairs: int) -> Schedule:
    """Four additions an element decide how many there are at once."""
    steps, n = size
    lanes = max(d for d in range(1, n + 1) if n % d == 0 and 4 * d <= max(4, pairs))
    sweep = allo.customize(average5, instantiate=[float32, n])
    rows = sweep.reuse_at(sweep.source, "i")
    window = sweep.reuse_at(rows, "j")
    sweep.partition(rows, dim=1)
    sweep.partition(window)
    bank(sweep, rows, 1, lanes)
    sweep.unroll("j", factor=lanes)
    sweep.pipeline("j")
    s = allo.customize(jacobi_2d, instantiate=[float32, steps, n])
    s.compose(sweep, id="there")
    s.compose(sweep, id="back")
    bank(s, s.A, 1, lanes)
    bank(s, s.B, 1, lanes)
    return s


def operations(size: tuple[int, ...]) -> int:
    """Float multiplications and additions of one run."""
    steps, n = size
    return 2 * steps * 5 * (n - 2) ** 2


__all__ = ["SIZES", "inputs", "operations", "reference", "schedule"]
