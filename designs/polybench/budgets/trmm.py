"""trmm: elements of a row of B side by side, to which the rows below are added in turn."""

from __future__ import annotations

import allo
from allo.customize import Schedule
from allo.ir.types import float32

from ..blas.trmm import SIZES, inputs, reference, trmm
from .tiles import apart, bank


def schedule(size: tuple[int, ...], pairs: int) -> Schedule:
    """No more elements at once than lets an addition end before the next row is added."""
    M, N = size
    lanes = apart(pairs, N)
    s = allo.customize(trmm, instantiate=[float32, M, N])
    s.reorder("add_rows_below:k", "add_rows_below:j")
    row = s.buffer_at("add_rows_below:B", axis="add_rows_below:i")
    for loop in ("add_rows_below:j_init", "add_rows_below:j", "add_rows_below:j_back", "scale:j"):
        s.unroll(loop, factor=lanes)
        s.pipeline(loop)
    bank(s, row, lanes)
    bank(s, s.B, 1, lanes)
    return s


def operations(size: tuple[int, ...]) -> int:
    """Float multiplications and additions of one run."""
    M, N = size
    return M * (M - 1) * N + M * N


__all__ = ["SIZES", "inputs", "operations", "reference", "schedule"]
