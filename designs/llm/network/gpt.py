"""The float32 transformer in NumPy: forward, backward, one step of Adam.

Pre-norm blocks, multi-head causal attention, GELU in its tanh form (Hendrycks and Gimpel,
2016). Written out by hand so that training needs nothing but NumPy.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import constants
from ..config import GPTConfig

Params = dict[str, np.ndarray]
Arrays = tuple[np.ndarray, ...]

# What the backward pass needs: the tokens, a layer's values each, and the last norm with its input.
Saved = tuple[np.ndarray, list[tuple[Any, ...]], np.ndarray, Arrays]

EPS = np.float32(constants.EPS)
GELU_C = np.float32(constants.GELU_C)
GELU_A = np.float32(constants.GELU_A)


def init_params(config: GPTConfig, seed: int) -> Params:
    """Parameters at the start of training, float32."""
    rng = np.random.default_rng(seed)
    params: Params = {}
    for name, shape in config.shapes().items():
        if name.endswith(".g"):
            value = np.ones(shape)
        elif name.endswith(".b"):
            value = np.zeros(shape)
        else:
            depth = (2 * config.layers) ** 0.5 if name.endswith(("p.w", "f2.w")) else 1.0
            scale = 0.1 if name in ("token", "position") else (1.0 / shape[-1]) ** 0.5
            value = rng.normal(0.0, scale / depth, shape)
        params[name] = value.astype(np.float32)
    return params


def _norm(x: np.ndarray, g: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, Arrays]:
    mean = x.mean(-1, keepdims=True)
    centred = x - mean
    rstd = 1.0 / np.sqrt((centred * centred).mean(-1, keepdims=True) + EPS)
    hat = centred * rstd
    return hat * g + b, (hat, rstd, g)


def _norm_back(dy: np.ndarray, saved: Arrays, grads: Params, name: str) -> np.ndarray:
    hat, rstd, g = saved
    axes = tuple(range(dy.ndim - 1))
    grads[name + ".g"] = (dy * hat).sum(axes)
    grads[name + ".b"] = dy.sum(axes)
    dhat = dy * g
    along = hat * (dhat * hat).mean(-1, keepdims=True)
    dx: np.ndarray = rstd * (dhat - dhat.mean(-1, keepdims=True) - along)
    return dx


def gelu(x: np.ndarray) -> np.ndarray:
    """GELU, tanh form."""
    y: np.ndarray = 0.5 * x * (1.0 + np.tanh(GELU_C * (x + GELU_A * x * x * x)))
    return y


def _gelu_back(dy: np.ndarray, x: np.ndarray) -> np.ndarray:
    t = np.tanh(GELU_C * (x + GELU_A * x * x * x))
    inner = GELU_C * (1.0 + 3.0 * GELU_A * x * x)
    dx: np.ndarray = dy * (0.5 * (1.0 + t) + 0.5 * x * (1.0 - t * t) * inner)
    return dx


def _linear_back(
    dy: np.ndarray, x: np.ndarray, params: Params, grads: Params, name: str
) -> np.ndarray:
    flat_dy, flat_x = dy.reshape(-1, dy.shape[-1]), x.reshape(-1, x.shape[-1])
    grads[name + ".w"] = flat_dy.T @ flat_x
    grads[name + ".b"] = flat_dy.sum(0)
    dx: np.ndarray = dy @ params[name + ".w"]
    return dx


def _heads(x: np.ndarray, heads: int) -> np.ndarray:
    batch, length, d = x.shape
    return x.reshape(batch, length, heads, d // heads).transpose(0, 2, 1, 3)


def _merge(x: np.ndarray) -> np.ndarray:
    batch, heads, length, width = x.shape
    return x.transpose(0, 2, 1, 3).reshape(batch, length, heads * width)


def forward(params: Params, tokens: np.ndarray, config: GPTConfig) -> tuple[np.ndarray, Saved]:
    """Logits of a batch.

    Args:
        tokens: int array (batch, length), length at most the context.

    Returns:
        logits (batch, length, vocab) and what :func:`backward` needs.
    """
    length = tokens.shape[1]
    x = params["token"][tokens] + params["position"][:length]
    mask = np.triu(np.full((length, length), -1e9, np.float32), 1)
    scale = np.float32(config.head_dim**-0.5)
    saved: list[tuple[Any, ...]] = []
    for layer in range(config.layers):
        p = f"{layer}."

        def linear(name: str, value: np.ndarray, p: str = p) -> np.ndarray:
            return value @ params[f"{p}{name}.w"].T + params[f"{p}{name}.b"]

        h, norm1 = _norm(x, params[p + "norm1.g"], params[p + "norm1.b"])
        q, k, v = (linear(name, h) for name in "qkv")
        qh, kh, vh = (_heads(t, config.heads) for t in (q, k, v))
        scores = (qh @ kh.transpose(0, 1, 3, 2)) * scale + mask
        scores = np.exp(scores - scores.max(-1, keepdims=True))
        attention = scores / scores.sum(-1, keepdims=True)
        o = _merge(attention @ vh)
        x1 = x + linear("p", o)
        h2, norm2 = _norm(x1, params[p + "norm2.g"], params[p + "norm2.b"])
        a = linear("f1", h2)
        g = gelu(a)
        x2 = x1 + linear("f2", g)
        saved.append((h, norm1, qh, kh, vh, attention, o, h2, norm2, a, g))
        x = x2
    y, norm = _norm(x, params["norm.g"], params["norm.b"])
    logits = y @ params["head.w"].T + params["head.b"]
    return logits, (tokens, saved, y, norm)


def loss_and_grads(
    params: Params, tokens: np.ndarray, targets: np.ndarray, config: GPTConfig
) -> tuple[float, Params]:
    """Mean cross-entropy in nats per token, and the gradient of every parameter."""
    logits, (_, saved, y, norm) = forward(params, tokens, config)
    loss, probabilities = cross_entropy(logits, targets)
    count = targets.size
    dlogits = probabilities
    batch, length = targets.shape
    dlogits[np.arange(batch)[:, None], np.arange(length)[None], targets] -= 1.0
    dlogits /= count
    grads: Params = {}
    dx = _norm_back(_linear_back(dlogits, y, params, grads, "head"), norm, grads, "norm")
    scale = np.float32(config.head_dim**-0.5)
    for layer in reversed(range(config.layers)):
        p = f"{layer}."
        h, norm1, qh, kh, vh, attention, o, h2, norm2, a, g = saved[layer]
        dg = _linear_back(dx, g, params, grads, p + "f2")
        dh2 = _linear_back(_gelu_back(dg, a), h2, params, grads, p + "f1")
        dx = dx + _norm_back(dh2, norm2, grads, p + "norm2")
        do = _heads(_linear_back(dx, o, params, grads, p + "p"), config.heads)
        dattention = do @ vh.transpose(0, 1, 3, 2)
        dv = attention.transpose(0, 1, 3, 2) @ do
        dscores = attention * (dattention - (dattention * attention).sum(-1, keepdims=True))
        dq = (dscores @ kh) * scale
        dk = (dscores.transpose(0, 1, 3, 2) @ qh) * scale
        into_heads = (
            _linear_back(_merge(t), h, params, grads, p + name)
            for name, t in (("q", dq), ("k", dk), ("v", dv))
        )
        dh = sum(into_heads, start=np.zeros_like(h))
        dx = dx + _norm_back(dh, norm1, grads, p + "norm1")
    grads["position"] = np.zeros_like(params["position"])
    grads["position"][:length] = dx.sum(0)
    grads["token"] = np.zeros_like(params["token"])
    np.add.at(grads["token"], tokens, dx)
    return loss, grads


def cross_entropy(logits: np.ndarray, targets: np.ndarray) -> tuple[float, np.ndarray]:
    """Mean cross-entropy in nats, and the probabilities."""
    shifted = logits - logits.max(-1, keepdims=True)
    e = np.exp(shifted)
    probabilities = e / e.sum(-1, keepdims=True)
    picked = np.take_along_axis(probabilities, targets[..., None], -1)
    return float(-np.log(np.maximum(picked, 1e-30)).mean()), probabilities


class Adam:
    """Adam (Kingma and Ba, 2015, algorithm 1), with weight decay on matrices."""

    def __init__(self, params: Params, decay: float = 0.01) -> None:
        self.step_count = 0
        self.decay = decay
        self.first = {k: np.zeros_like(v) for k, v in params.items()}
        self.second = {k: np.zeros_like(v) for k, v in params.items()}

    def step(self, params: Params, grads: Params, rate: float) -> None:
        """Update ``params`` in place."""
        self.step_count += 1
        c1, c2 = 1.0 - 0.9**self.step_count, 1.0 - 0.99**self.step_count
        for name, value in params.items():
            grad = grads[name].astype(np.float32)
            m = self.first[name]
            m += 0.1 * (grad - m)
            v = self.second[name]
            v += 0.01 * (grad * grad - v)
            if value.ndim == 2 and self.decay:
                value -= np.float32(rate * self.decay) * value
            value -= np.float32(rate / c1) * m / (np.sqrt(v / np.float32(c2)) + np.float32(1e-8))
