"""Layer norm with the residual before it and quantisation after it, as a kernel, and its schedule."""

import allo
from allo.ir.types import float32, int8, int32

from .constants import EPS, ROUND
from .stage import pipelined


def norm[D, NORMS, BLOCK, KMAX](
    x: float32[BLOCK, D],
    delta: float32[BLOCK, D],
    affine: float32[2, NORMS, D],
    which: int32,
    rows: int32,
    small: int8[BLOCK, KMAX],
):
    """Add ``delta`` to ``x``, and store the layer norm of ``x``, quantised, in ``small``."""
    for b in range(rows):
        part: float32[8] = 0.0
        for rt in range(D // 8):
            for lt in range(8):
                value: float32 = x[b, rt * 8 + lt] + delta[b, rt * 8 + lt]
                x[b, rt * 8 + lt] = value
                part[lt] = part[lt] + value
        left: float32 = (part[0] + part[1]) + (part[2] + part[3])
        right: float32 = (part[4] + part[5]) + (part[6] + part[7])
        mean: float32 = (left + right) * (1.0 / D)
        square: float32[8] = 0.0
        for rs in range(D // 8):
            for ls in range(8):
                away: float32 = x[b, rs * 8 + ls] - mean
                square[ls] = square[ls] + away * away
        low: float32 = (square[0] + square[1]) + (square[2] + square[3])
        high: float32 = (square[4] + square[5]) + (square[6] + square[7])
        variance: float32 = (low + high) * (1.0 / D)
        rstd: float32 = 1.0 / allo.sqrt(variance + EPS)
        for j in range(D):
            unit: float32 = (x[b, j] - mean) * rstd
            wide: float32 = unit * affine[0, which, j] + affine[1, which, j]
            clamped: float32 = min(max(wide, -127.0), 127.0)
            rounded: float32 = (clamped + ROUND) - ROUND
            small[b, j] = rounded


schedule_norm = pipelined("lt ls j", "part square", affine=1)
