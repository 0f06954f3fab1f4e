"""Softmax over the last axis, in three nests: the row's maximum, the sum of exponentials, the quotient.

The running maximum starts from the row's first element, so rows of any values are right.
"""

from __future__ import annotations

import allo
from allo.customize import Schedule
from allo.ir.types import int32

from .._defaults import scheduled_by


def softmax_rows[Ty, R: int32, C: int32](X: Ty[R, C]) -> Ty[R, C]:
    """Softmax of each of ``R`` rows of ``C`` elements."""
    Z: Ty[R, C]
    E: Ty[R, C]
    highest: Ty[R]
    total: Ty[R]
    for i0 in range(R, name="row_init"):
        highest[i0] = X[i0, 0]
        total[i0] = 0
    for i, j in allo.grid(R, C, name="row_max"):
        highest[i] = X[i, j] if X[i, j] > highest[i] else highest[i]
    for i, j in allo.grid(R, C, name="exp_sum"):
        E[i, j] = allo.exp(X[i, j] - highest[i])
        total[i] += E[i, j]
    for i, j in allo.grid(R, C, name="update"):
        Z[i, j] = E[i, j] / total[i]
    return Z


def softmax[Ty, L: int32](X: Ty[L, L]) -> Ty[L, L]:
    """Softmax of each row of a square array."""
    Z: Ty[L, L]
    E: Ty[L, L]
    highest: Ty[L]
    total: Ty[L]
    for i0 in range(L, name="row_init"):
        highest[i0] = X[i0, 0]
        total[i0] = 0
    for i, j in allo.grid(L, L, name="row_max"):
        highest[i] = X[i, j] if X[i, j] > highest[i] else highest[i]
    for i, j in allo.grid(L, L, name="exp_sum"):
        E[i, j] = allo.exp(X[i, j] - highest[i])
        total[i] += E[i, j]
    for i, j in allo.grid(L, L, name="update"):
        Z[i, j] = E[i, j] / total[i]
    return Z


def log_softmax[Ty, B: int32, C: int32](X: Ty[B, C]) -> Ty[B, C]:
    """``x - max - log(sum(exp(x - max)))`` of each row."""
    Z: Ty[B, C]
    highest: Ty[B]
    total: Ty[B]
    for i0 in range(B, name="row_init"):
        highest[i0] = X[i0, 0]
        total[i0] = 0
    for i, j in allo.grid(B, C, name="row_max"):
        highest[i] = X[i, j] if X[i, j] > highest[i] else highest[i]
    for i, j in allo.grid(B, C, name="exp_sum"):
        total[i] += allo.exp(X[i, j] - highest[i])
    for i1 in range(B, name="log_sum"):
        total[i1] = allo.log(total[i1])
    for i, j in allo.grid(B, C, name="update"):
        Z[i, j] = X[i, j] - highest[i] - total[i]
    return Z


def schedule_softmax(s: Schedule) -> Schedule:
    """Pipeline every nest; sums run over the rows side by side, so additions do not wait."""
    loops = s.get_loops(s.top_func_name)
    for name in ("row_max", "exp_sum"):
        s.reorder(loops[name]["j"], loops[name]["i"])
        s.pipeline(loops[name]["i"])
    for name, band in loops:
        if name in ("row_init", "log_sum"):
            s.pipeline(next(loop for _, loop in band))
    s.pipeline(loops["update"]["j"])
    return s


def schedule_log_softmax(s: Schedule) -> Schedule:
    """As :func:`schedule_softmax`."""
    return schedule_softmax(s)


scheduled_by(softmax, schedule_softmax)
scheduled_by(softmax_rows, schedule_softmax)
scheduled_by(log_softmax, schedule_log_softmax)
