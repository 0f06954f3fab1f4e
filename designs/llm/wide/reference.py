"""The quantised models in NumPy, bit for bit as the wide accelerator computes them.

They differ from :mod:`..checkpoints.integer_model` in the norms: sum and sum of squares come in one pass,
as trees over V elements, which add up in sums that take turns.
"""

from __future__ import annotations

import numpy as np

from allo import bitexact

from ..checkpoints.integer_model import IntegerModel, Observer
from ..checkpoints.quantize import QuantizedModel
from ..network.reference import F32, round_clamp
from .parameters import Wide


def tree_sum(x: np.ndarray) -> np.ndarray:
    """Sum of neighbours, again and again, over the last axis, which goes."""
    while x.shape[-1] > 1:
        x = x[..., 0::2] + x[..., 1::2]
    total: np.ndarray = x[..., 0]
    return total


def turn_sum(rows: np.ndarray, parts: int) -> np.ndarray:
    """Sum over the last axis: row r is added to part r modulo ``parts``, then a tree."""
    part = np.zeros((*rows.shape[:-1], parts), F32)
    for row in range(0, rows.shape[-1], parts):
        part = part + rows[..., row : row + parts]
    return tree_sum(part)


def normalise(
    x: np.ndarray, gain: np.ndarray, shift: np.ndarray | None, wide: Wide, eps: float = 1e-5
) -> np.ndarray:
    """:func:`normed`, quantised."""
    return round_clamp(normed(x, gain, shift, wide, eps))


def normed(
    x: np.ndarray, gain: np.ndarray, shift: np.ndarray | None, wide: Wide, eps: float = 1e-5
) -> np.ndarray:
    """A norm over the last axis, float32, as :func:`norm.normalise` does it.

    Args:
        shift: of a layer norm; without one it is a root-mean-square norm.
        eps: what is added to the mean square.
    """
    d, v = x.shape[-1], wide.vector
    rows = x.reshape(*x.shape[:-1], d // v, v)
    inverse = F32(1.0 / d)
    square = turn_sum(tree_sum(rows * rows), wide.parts) * inverse
    if shift is None:
        scaled: np.ndarray = (x * bitexact.rsqrt(square + F32(eps))[..., None]) * gain
        return scaled
    mean = turn_sum(tree_sum(rows), wide.parts) * inverse
    variance = np.maximum(square - mean * mean, F32(0))
    rstd = bitexact.rsqrt(variance + F32(eps))
    shifted: np.ndarray = ((x - mean[..., None]) * rstd[..., None]) * gain + shift
    return shifted


class WideGPT(IntegerModel):
    """The reference of the wide accelerator with a cache: a step costs one token.

    Args:
        wide: the accelerator, whose width decides the order of the sums.
    """

    def __init__(
        self, weights: QuantizedModel, wide: Wide, observe: Observer = lambda name, value: None
    ) -> None:
        super().__init__(weights, observe)
        self.wide = wide

    def norm(self, name: str, x: np.ndarray) -> np.ndarray:
        """The norm in the order of the wide accelerator's sums, float32."""
        m, arrays = self.weights.model, self.weights.arrays
        shift = None if m.rms else arrays[name + ".b"]
        return normed(x, arrays[name + ".g"], shift, self.wide, m.eps)

    def inverse_rms(self, x: np.ndarray) -> np.ndarray:
        """One over the root mean square, in the order of the wide accelerator's sums."""
        rows = x.reshape(*x.shape[:-1], -1, self.wide.vector)
        square = turn_sum(tree_sum(rows * rows), self.wide.parts) * F32(1.0 / x.shape[-1])
        inverse: np.ndarray = bitexact.rsqrt(square + F32(self.weights.model.eps))[..., None]
        return inverse
