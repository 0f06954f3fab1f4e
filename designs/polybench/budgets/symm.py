"""symm: elements of a row side by side; each row k below i serves both sums."""

from __future__ import annotations

import allo
from allo.customize import Schedule
from allo.ir.types import float32

from ..blas.symm import SIZES, inputs, reference, symm
from .tiles import apart, bank


def schedule(size: tuple[int, ...], pairs: int) -> Schedule:
    """Three multiplications an element; no more at once than lets an addition to ``total`` end."""
    M, N = size
    lanes = apart(pairs // 3, N)
    s = allo.customize(symm, instantiate=[float32, M, N])
    s.reorder("k", "j")
    for loop in ("j", "j1"):
        s.unroll(loop, factor=lanes)
        s.pipeline(loop)
    bank(s, s.total, lanes)
    bank(s, s.B, 1, lanes)
    bank(s, s.C, 1, lanes)
    return s


def operations(size: tuple[int, ...]) -> int:
    """Float multiplications and additions of one run."""
    M, N = size
    return 5 * N * M * (M - 1) // 2 + 6 * M * N


__all__ = ["SIZES", "inputs", "operations", "reference", "schedule"]
