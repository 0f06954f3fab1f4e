"""The same float model with activations that int8 holds better: a turned residual, and smoothed gates.

Both change parameters alone, and neither what the model computes nor the hardware that computes it.

- A residual that is turned by an orthogonal matrix has no channel that is far larger than the others: the
  gains of the norms go into the matrices behind them, and every matrix takes the turn or its inverse
  (Ashkboos et al., QuaRot, 2024; Liu et al., SpinQuant, 2024).
- What a gate multiplies is divided by a factor a channel, and the columns behind it are multiplied by the
  same factor (Xiao et al., SmoothQuant, 2023).
"""

from __future__ import annotations

import numpy as np

from ..config import Architecture, ConfigurationError
from .float_model import FloatModel, Params

ENTERING, LEAVING = ("q", "k", "v", "gate", "f1"), ("p", "f2")
"""Linear layers that take the norm of the residual, and those whose result is added to it."""


def turned(model: Architecture, params: Params, seed: int = 0) -> Params:
    """Parameters of the same model with a residual that is turned by a random orthogonal matrix.

    Raises:
        ConfigurationError: the norms subtract a mean, which a turn does not keep.
    """
    _check(model)
    rng = np.random.default_rng(seed)
    turn = np.linalg.qr(rng.standard_normal((model.d, model.d)))[0]
    found = dict(params)
    found["token"] = _float(params["token"] @ turn)
    found["head.w"] = _float((params["head.w"] * params["norm.g"]) @ turn)
    ones = np.ones(model.d, np.float32)
    found["norm.g"] = ones
    for layer in range(model.layers):
        p = f"{layer}."
        for name in ENTERING:
            gain = params[p + ("norm1.g" if name in "qkv" else "norm2.g")]
            found[p + name + ".w"] = _float((params[p + name + ".w"] * gain) @ turn)
        for name in LEAVING:
            found[p + name + ".w"] = _float(turn.T @ params[p + name + ".w"])
            found[p + name + ".b"] = _float(params[p + name + ".b"] @ turn)
        found[p + "norm1.g"] = found[p + "norm2.g"] = ones
    return found


def smoothed(
    model: Architecture, params: Params, batches: list[np.ndarray], strength: float = 0.5
) -> Params:
    """Parameters of the same model whose gated activations differ less from channel to channel.

    Args:
        batches: tokens (batch, length) of typical text.
        strength: how much of the difference goes into the matrix behind, 0 for none and 1 for all.

    Raises:
        ConfigurationError: the feed-forward layers have no gate.
    """
    _check(model)
    peaks: dict[str, np.ndarray] = {}

    def observe(name: str, value: np.ndarray) -> None:
        if name.endswith(".gelu"):
            peak = np.abs(value).reshape(-1, value.shape[-1]).max(0)
            peaks[name] = np.maximum(peaks.get(name, 0.0), peak)

    for tokens in batches:
        FloatModel(model, params, observe).forward(tokens)
    found = dict(params)
    for layer in range(model.layers):
        p = f"{layer}."
        column = np.maximum(np.abs(params[p + "f2.w"]).max(0), 1e-5)
        factor = np.maximum(peaks[p + "gelu"], 1e-5) ** strength / column ** (1.0 - strength)
        factor = factor / np.exp(np.log(factor).mean())
        for part in ("f1.w", "f1.b"):
            rows = factor[:, None] if part == "f1.w" else factor
            found[p + part] = _float(params[p + part] / rows)
        found[p + "f2.w"] = _float(params[p + "f2.w"] * factor)
    return found


def _check(model: Architecture) -> None:
    if not (model.rms and model.gated) or model.post_norm or model.qk_norm:
        raise ConfigurationError(
            f"The residual of a model of the family {model.family!r} cannot be turned.",
            help="models with norms by the root mean square in front of gated layers can, as LLaMA.",
        )


def _float(values: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(values, np.float32)
