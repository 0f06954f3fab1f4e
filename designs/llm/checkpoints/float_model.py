"""The float32 model of every family in NumPy: what a checkpoint computes before it is quantised."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from allo import bitexact

from ..config import Architecture
from ..constants import GELU_A, GELU_C

Params = dict[str, np.ndarray]
Observer = Callable[[str, np.ndarray], None]


def activate(model: Architecture, x: np.ndarray) -> np.ndarray:
    """The activation function of a model, float32."""
    match model.activation:
        case "gelu_tanh":
            y: np.ndarray = 0.5 * x * (1.0 + np.tanh(GELU_C * (x + GELU_A * x * x * x)))
        case "gelu":
            y = 0.5 * x * (1.0 + bitexact.erf(x * np.float32(0.5**0.5)))
        case "relu":
            y = np.maximum(x, 0.0)
        case _:
            y = x / (1.0 + np.exp(-x))
    return y.astype(np.float32)


def rotation(model: Architecture, first: int, length: int) -> tuple[np.ndarray, np.ndarray]:
    """Cosine and sine of every position and pair, float32 (length, head_dim / 2)."""
    angle = np.arange(first, first + length)[:, None] * np.array(model.rotary)
    return np.cos(angle).astype(np.float32), np.sin(angle).astype(np.float32)


def rotate(x: np.ndarray, cosine: np.ndarray, sine: np.ndarray) -> np.ndarray:
    """Turn every head's pairs (i, i + half of what is turned) by their angles; x is (…, length, head_dim)."""
    turned = 2 * cosine.shape[-1]
    low, high = np.split(x[..., :turned], 2, axis=-1)
    parts = [low * cosine - high * sine, high * cosine + low * sine, x[..., turned:]]
    return np.concatenate(parts, axis=-1)


def seen(model: Architecture, layer: int, first: int, length: int) -> np.ndarray:
    """Which of ``first + length`` tokens each of the last ``length`` sees, (length, first + length)."""
    everything = np.ones((length, first + length), bool)
    if not model.causal:
        return everything
    too_old = np.tril(everything, first - model.window(layer))
    return np.tril(everything, first) & ~too_old


@dataclass(frozen=True, slots=True)
class FloatModel:
    """A model of one of the families.

    Attributes:
        observe: called with (name, values) on every activation that is quantised.
    """

    model: Architecture
    params: Params
    observe: Observer = lambda name, value: None

    def forward(self, tokens: np.ndarray) -> np.ndarray:
        """Logits, or hidden values of a model without a head, of (batch, length) tokens."""
        m, length = self.model, tokens.shape[1]
        x: np.ndarray = self.params["token"][tokens]
        if not m.rotary:
            x = x + self.params["position"][:length]
        if m.post_norm:
            x = self._seen("embed", self._norm("embed", x))
        for layer in range(m.layers):
            x = self._block(x, layer)
        if not m.post_norm:
            x = self._seen("norm", self._norm("norm", x))
        return self._linear("head", x) if m.has_head else x

    def _block(self, x: np.ndarray, layer: int) -> np.ndarray:
        p = f"{layer}."
        if self.model.post_norm:
            x = self._seen(p + "norm1", self._norm(p + "norm1", x + self._attention(x, layer)))
            return self._seen(p + "norm2", self._norm(p + "norm2", x + self._feed(x, p)))
        taken = self._seen(p + "norm1", self._norm(p + "norm1", x))
        x = x + self._attention(taken, layer)
        if not self.model.parallel:
            taken = self._seen(p + "norm2", self._norm(p + "norm2", x))
        y: np.ndarray = x + self._feed(taken, p)
        return y

    def _seen(self, name: str, value: np.ndarray) -> np.ndarray:
        self.observe(name, value)
        return value

    def _linear(self, name: str, x: np.ndarray) -> np.ndarray:
        y: np.ndarray = x @ self.params[name + ".w"].T + self.params[name + ".b"]
        return y

    def _norm(self, name: str, x: np.ndarray) -> np.ndarray:
        centred = x if self.model.rms else x - x.mean(-1, keepdims=True)
        square = (centred * centred).mean(-1, keepdims=True)
        unit = centred / np.sqrt(square + np.float32(self.model.eps))
        y: np.ndarray = unit * self.params[name + ".g"] + self.params[name + ".b"]
        return y

    def _of_heads(self, name: str, x: np.ndarray) -> np.ndarray:
        """The norm of every head by its root mean square."""
        square = (x * x).mean(-1, keepdims=True)
        y: np.ndarray = x / np.sqrt(square + np.float32(self.model.eps)) * self.params[name + ".g"]
        return y

    def _attention(self, x: np.ndarray, layer: int) -> np.ndarray:
        m, (batch, length, _), p = self.model, x.shape, f"{layer}."

        def heads(name: str) -> np.ndarray:
            parts = self._linear(p + name, x).reshape(batch, length, -1, m.head_dim)
            return parts.transpose(0, 2, 1, 3)

        q, k, v = heads("q"), heads("k"), heads("v")
        if m.qk_norm:
            q, k = self._of_heads(p + "q_norm", q), self._of_heads(p + "k_norm", k)
        if m.rotary:
            turn = rotation(m, 0, length)
            q, k = rotate(q, *turn), rotate(k, *turn)
        for name, value in (("q", q), ("k", k), ("v", v)):
            self.observe(p + name, value)
        k, v = (np.repeat(t, m.heads // m.kv_heads, axis=1) for t in (k, v))
        scores = (q @ k.transpose(0, 1, 3, 2)) * np.float32(m.head_dim**-0.5)
        scores = np.where(seen(m, layer, 0, length), scores, -np.inf)
        share = np.exp(scores - scores.max(-1, keepdims=True))
        share /= share.sum(-1, keepdims=True)
        mixed = (share.astype(np.float32) @ v).transpose(0, 2, 1, 3).reshape(batch, length, -1)
        return self._linear(p + "p", self._seen(p + "o", mixed))

    def _feed(self, x: np.ndarray, p: str) -> np.ndarray:
        up = self._linear(p + "f1", x)
        if self.model.gated:
            wide = activate(self.model, self._linear(p + "gate", x)) * up
        else:
            wide = activate(self.model, up)
        return self._linear(p + "f2", self._seen(p + "gelu", wide))
