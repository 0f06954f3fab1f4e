"""Sums over a table's columns, with which covariance and correlation begin."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import allo
from allo.customize import Schedule
from allo.ir.types import float32


def column_mean[T, M, N](data: T[N, M], mean: T[M]):
    """``mean[j]`` of the N rows, added up from the first."""
    for j in range(M, name="clear"):
        mean[j] = 0.0
    for j in range(M, name="sum"):
        for i in range(N):
            mean[j] += data[i, j]
    for j in range(M, name="finish"):
        mean[j] /= N


def schedule_columns(kernel: Callable[..., None], size: tuple[int, ...]) -> Schedule:
    """Sum a row at a time, so that additions to one column's sum lie a row apart.

    Args:
        kernel: has the bands ``clear``, ``sum`` (of j and i) and ``finish``.
        size: columns and rows.
    """
    s = allo.customize(kernel, instantiate=[float32, *size])
    loops = s.get_loops()
    s.reorder(loops["sum"]["i"], loops["sum"]["j"])
    for band in ("clear", "sum", "finish"):
        s.pipeline(loops[band]["j"])
    return s


def reference_column_mean(data: np.ndarray, mean: np.ndarray) -> None:
    """``column_mean`` in NumPy, sums in the same order."""
    mean[:] = 0
    for row in data:
        mean += row
    mean /= np.float32(len(data))
