"""Activations whose steps are found for each token: one float32 step, and a power of two for each block.

A static step has to be as wide as the largest activation of any token, which a few channels of a trained
model make. Here a token's largest magnitude becomes 127, and a block whose largest is at most half (a
quarter, …) of it takes levels twice (four times, …) as fine, as in the block formats of Rouhani et al.
(Microscaling Data Formats for Deep Learning, 2023). Sums stay integers: a block's sum is shifted by what its
levels are coarser than the finest ones can be.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..network.reference import F32, round_clamp

LEAST = F32(1e-30)
"""The largest magnitude that a token of zeros is taken to have."""
_INT32, _MOST = 31, 127


def most_shift(inputs: int, weight: int = _MOST) -> int:
    """The most by which a block's levels are finer: with it, sums of so many products fit int32.

    Args:
        weight: the largest magnitude of a weight.
    """
    shift = 0
    while shift < 7 and (inputs * _MOST * weight << (shift + 1)) < 1 << _INT32:
        shift += 1
    return shift


@dataclass(frozen=True, slots=True)
class Blocks:
    """Quantised activations over the last axis.

    Attributes:
        levels: whole numbers of -127 to 127, times 2 to the power of what the block is coarser: int32.
        peak: the largest magnitude of each token, float32, of one more axis of length 1.
    """

    levels: np.ndarray
    peak: np.ndarray


def in_blocks(values: np.ndarray, block: int, most: int) -> Blocks:
    """Quantise float32 activations (…, width), ``block`` of which share a power of two."""
    parts = values.reshape(*values.shape[:-1], -1, block)
    peaks = np.abs(parts).max(-1, keepdims=True)
    peak = np.maximum(peaks.max(-2, keepdims=True), LEAST)
    # Bits of positive floats, as integers, are in the order of the floats, and 2**23 apart for a factor of 2.
    finer = np.minimum((peak.view(np.uint32) - peaks.view(np.uint32)) >> np.uint32(23), most)
    factor = np.ldexp(F32(127.0) / peak, finer.astype(np.int32)).astype(F32)
    levels = round_clamp(parts * factor) << (most - finer).astype(np.int32)
    return Blocks(levels.reshape(values.shape), peak[..., 0])
