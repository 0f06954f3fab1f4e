"""Matrix times vector in int8, ``P`` rows of the matrix packed in one word."""

from __future__ import annotations

from allo.customize import Schedule
from allo.ir.types import ConstExpr, Int, index, int8, int32

from ._checks import quotient
from ._defaults import scheduled_by


def pe_kernel[L: int32, D: int32, P: int32](
    x: Int(P * 8)[D // P, L], y: int8[L], o: int8[D], p: index
):
    """Lane ``p``: rows ``p, p + P, …`` of the matrix, each a dot product with ``y``."""
    for i in range(D // P, name="row"):
        acc: int32 = 0
        for l in range(L):
            a: int8 = x[i, l][p * 8 : (p + 1) * 8]
            acc += a * y[l]
        o[i * P + p] = acc


def int8xint8_mat_vec[L: int32, D: int32, P: int32](
    x_in: Int(P * 8)[D // P, L], y_in: int8[L], out: int8[D]
):
    """``out = X · y`` modulo 2⁸; byte ``p`` of ``x_in[i, l]`` is ``X[i * P + p, l]``."""
    _words: ConstExpr[int32] = quotient(D, P)
    for p in range(P, name="lanes"):
        pe_kernel[L, D, P](x_in, y_in, out, p)


def schedule_int8xint8_mat_vec(s: Schedule) -> Schedule:
    """Pipeline the dot product, then one unit for each of the ``P`` lanes."""
    lane = next(name for name in s.func_args if name != s.top_func_name)
    s.pipeline(f"{lane}:l")
    s.unfold("lanes", [0])
    return s


scheduled_by(int8xint8_mat_vec, schedule_int8xint8_mat_vec)
