"""The W8A8 transformer in NumPy, bit for bit as the accelerator computes it.

Every float32 operation here is one float32 operation there, in the same order; every
accumulator is an exact int32. Sums over the hidden width run in ``LANES`` interleaved
partial sums joined by a tree, so that a pipelined adder can keep up.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from allo import bitexact

from .. import constants
from .weights import QuantizedWeights

F32 = np.float32
LANES = 8
ROUND, EPS = F32(constants.ROUND), F32(constants.EPS)
GELU_C, GELU_A = F32(constants.GELU_C), F32(constants.GELU_A)
PROBABILITY_LEVELS = F32(255.0)

Observer = Callable[[str, np.ndarray], None]


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


class QuantizedGPT:
    """The reference model.

    Args:
        weights: a checked W8A8 model.
        observe: called with (name, array) for every int32 accumulator: ``"0.q"``, ``"0.scores"``,
            ``"0.context"``, ``"0.p"``, ``"0.f1"``, ``"0.f2"``, …, ``"head"``.
    """

    def __init__(self, weights: QuantizedWeights, observe: Observer | None = None) -> None:
        self.config = weights.config
        self.arrays = weights.arrays
        self.observe = observe or (lambda name, value: None)

    def forward(self, tokens: np.ndarray) -> np.ndarray:
        """Logits of whole sequences.

        Args:
            tokens: int array (batch, length), length at most the context.

        Returns:
            float32 (batch, length, vocab).
        """
        length = tokens.shape[1]
        x = self.arrays["token"][tokens] + self.arrays["position"][:length]
        for layer in range(self.config.layers):
            x = self._block(x, f"{layer}.")
        q = norm_quantize(x, self.arrays["norm.g"], self.arrays["norm.b"])
        return self._affine("head", self._accumulate("head", q))

    def generate(self, prompt: np.ndarray, count: int) -> np.ndarray:
        """``count`` tokens after the prompt, each the most likely one (lowest token on a tie)."""
        tokens = list(map(int, prompt))
        for _ in range(count):
            logits = self.forward(np.array([tokens], np.int32))
            tokens.append(int(np.argmax(logits[0, -1])))
        return np.array(tokens[len(prompt) :], np.int32)

    def _accumulate(self, name: str, q: np.ndarray) -> np.ndarray:
        # Exact: |acc| <= 127 * 127 * inputs < 2**53 in float64, and far faster than int32 matmul.
        weight = self.arrays[name + ".w"].astype(np.float64)
        acc: np.ndarray = (q.astype(np.float64) @ weight.T).astype(np.int32)
        self.observe(name, acc)
        return acc

    def _affine(self, name: str, acc: np.ndarray) -> np.ndarray:
        y: np.ndarray = acc.astype(F32) * self.arrays[name + ".s"] + self.arrays[name + ".b"]
        return y

    def _block(self, x: np.ndarray, p: str) -> np.ndarray:
        arrays = self.arrays
        h = norm_quantize(x, arrays[p + "norm1.g"], arrays[p + "norm1.b"])
        q, k, v = (round_clamp(self._affine(p + n, self._accumulate(p + n, h))) for n in "qkv")
        o = self._attention(q, k, v, p)
        x = x + self._affine(p + "p", self._accumulate(p + "p", o))
        h2 = norm_quantize(x, arrays[p + "norm2.g"], arrays[p + "norm2.b"])
        g = gelu(self._affine(p + "f1", self._accumulate(p + "f1", h2)))
        gq = round_clamp(g * arrays[p + "gelu"])
        y: np.ndarray = x + self._affine(p + "f2", self._accumulate(p + "f2", gq))
        return y

    def _levels(self, p: str, most: int) -> np.ndarray:
        """Softmax weight, 0 … 255, of a score that lies 0 … ``most`` below the row's peak."""
        below = -np.arange(most + 1, dtype=np.int32)
        e = bitexact.exp(below.astype(F32) * self.arrays[p + "softmax"])
        return round_clamp(e * PROBABILITY_LEVELS, 0.0, 255.0)

    def _attention(self, q: np.ndarray, k: np.ndarray, v: np.ndarray, p: str) -> np.ndarray:
        batch, length, d = q.shape
        heads, width = self.config.heads, self.config.head_dim

        def split(t: np.ndarray) -> np.ndarray:
            return t.reshape(batch, length, heads, width).transpose(0, 2, 1, 3).astype(np.float64)

        scores = (split(q) @ split(k).transpose(0, 1, 3, 2)).astype(np.int32)
        causal = np.tril(np.ones((length, length), bool))
        peak = np.where(causal, scores, np.iinfo(np.int32).min).max(-1, keepdims=True)
        below = np.where(causal, peak - scores, 0)
        levels = np.where(causal, self._levels(p, below.max())[below], 0)
        total = levels.sum(-1, dtype=np.int32, keepdims=True)
        context = (levels.astype(np.float64) @ split(v)).astype(np.int32)
        self.observe(p + "scores", np.where(causal, scores, 0))
        self.observe(p + "context", context)
        factor = self.arrays[p + "attend"] / total.astype(F32)
        o = round_clamp(context.astype(F32) * factor)
        return o.transpose(0, 2, 1, 3).reshape(batch, length, d)
