"""The W8A8 transformer in NumPy, bit for bit as the accelerator computes it.

Every float32 operation here is one float32 operation there, in the same order; every
accumulator is an exact int32. Sums over the hidden width run in ``LANES`` interleaved
partial sums joined by a tree, so that a pipelined adder can keep up.
"""

from __future__ import annotations

import numpy as np

from allo import bitexact

from .. import constants

F32 = np.float32
LANES = 8
ROUND, EPS = F32(constants.ROUND), F32(constants.EPS)
GELU_C, GELU_A = F32(constants.GELU_C), F32(constants.GELU_A)
PROBABILITY_LEVELS = F32(255.0)


def round_clamp(x: np.ndarray, low: float = -127.0, high: float = 127.0) -> np.ndarray:
    """float32 to the nearest integer within [low, high], int32."""
    clamped = np.minimum(np.maximum(x, F32(low)), F32(high))
    rounded: np.ndarray = (clamped + ROUND) - ROUND
    return rounded.astype(np.int32)


def lane_sum(x: np.ndarray) -> np.ndarray:
    """Sum over the last axis: LANES interleaved running sums, then a tree. Keeps the axis."""
    rows = x.reshape(*x.shape[:-1], x.shape[-1] // LANES, LANES)
    part: np.ndarray = np.zeros((*x.shape[:-1], LANES), F32)
    for row in range(rows.shape[-2]):
        part = part + rows[..., row, :]
    while part.shape[-1] > 1:
        part = part[..., 0::2] + part[..., 1::2]
    return part


def norm_quantize(x: np.ndarray, g: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Layer norm over the last axis and quantisation to int8 (the scale is inside g and b)."""
    inverse = F32(1.0 / x.shape[-1])
    mean = lane_sum(x) * inverse
    centred = x - mean
    variance = lane_sum(centred * centred) * inverse
    rstd = F32(1.0) / np.sqrt(variance + EPS)
    return round_clamp((centred * rstd) * g + b)


def gelu(a: np.ndarray) -> np.ndarray:
    """GELU in its tanh form, float32."""
    cube = (a * a) * a
    inner = (a + cube * GELU_A) * GELU_C
    return (F32(0.5) * a) * (F32(1.0) + bitexact.tanh(inner))
