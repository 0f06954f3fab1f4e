"""The W8A8 transformer in NumPy, bit for bit as the wide accelerator computes it.

It differs from :mod:`..network.reference` in the norms: sum and sum of squares come in one pass,
as trees over V elements, which add up in sums that take turns.
"""

from __future__ import annotations

import numpy as np

from allo import bitexact

from ..constants import EPS
from ..network.reference import F32, Observer, QuantizedGPT, gelu, round_clamp
from ..network.weights import QuantizedWeights
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


def normalise(x: np.ndarray, gain: np.ndarray, shift: np.ndarray, wide: Wide) -> np.ndarray:
    """Layer norm over the last axis, quantised, as :func:`norm.normalise` does it."""
    d, v = x.shape[-1], wide.vector
    rows = x.reshape(*x.shape[:-1], d // v, v)
    inverse = F32(1.0 / d)
    mean = turn_sum(tree_sum(rows), wide.parts) * inverse
    square = turn_sum(tree_sum(rows * rows), wide.parts) * inverse
    variance = np.maximum(square - mean * mean, F32(0))
    rstd = bitexact.rsqrt(variance + F32(EPS))
    return round_clamp(((x - mean[..., None]) * rstd[..., None]) * gain + shift)


class WideGPT(QuantizedGPT):
    """The reference of the wide accelerator.

    Args:
        weights: a checked W8A8 model.
        wide: the accelerator, whose width decides the order of the sums.
        observe: as :class:`QuantizedGPT` has it.
    """

    def __init__(
        self, weights: QuantizedWeights, wide: Wide, observe: Observer | None = None
    ) -> None:
        super().__init__(weights, observe)
        self.wide = wide

    def forward(self, tokens: np.ndarray) -> np.ndarray:
        """Logits of whole sequences; tokens (batch, length) to float32 (batch, length, vocab)."""
        x = self.arrays["token"][tokens] + self.arrays["position"][: tokens.shape[1]]
        for layer in range(self.config.layers):
            x = self._block(x, f"{layer}.")
        return self._affine("head", self._accumulate("head", self._norm("norm", x)))

    def _norm(self, name: str, x: np.ndarray) -> np.ndarray:
        return normalise(x, self.arrays[name + ".g"], self.arrays[name + ".b"], self.wide)

    def _block(self, x: np.ndarray, p: str) -> np.ndarray:
        h = self._norm(p + "norm1", x)
        q, k, v = (round_clamp(self._affine(p + n, self._accumulate(p + n, h))) for n in "qkv")
        o = self._attention(q, k, v, p)
        x = x + self._affine(p + "p", self._accumulate(p + "p", o))
        h2 = self._norm(p + "norm2", x)
        g = gelu(self._affine(p + "f1", self._accumulate(p + "f1", h2)))
        gq = round_clamp(g * self.arrays[p + "gelu"])
        y: np.ndarray = x + self._affine(p + "f2", self._accumulate(p + "f2", gq))
        return y
