"""The same float model with activations that int8 holds better: turned residuals, smoothed gates, even heads.

All change parameters alone, and neither what the model computes nor the hardware that computes it.

- A residual that is turned by an orthogonal matrix has no channel that is far larger than the others: the
  gains of the norms go into the matrices behind them, and every matrix takes the turn or its inverse
  (Ashkboos et al., QuaRot, 2024; Liu et al., SpinQuant, 2024).
- What a gate multiplies is divided by a factor a channel, and the columns behind it are multiplied by the
  same factor (Xiao et al., SmoothQuant, 2023).
- A pair of a head's keys is multiplied by a factor that its queries are divided by, and values are divided by
  one that the columns of the projection are multiplied by, so that one step fits all heads of a layer.
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
    peaks = _peaks(model, params, batches, (".gelu",))
    found = dict(params)
    for layer in range(model.layers):
        p = f"{layer}."
        column = np.maximum(np.abs(params[p + "f2.w"]).max(0), 1e-5)
        factor = peaks[p + "gelu"] ** strength / column ** (1.0 - strength)
        factor = factor / np.exp(np.log(factor).mean())
        for part in ("f1.w", "f1.b"):
            rows = factor[:, None] if part == "f1.w" else factor
            found[p + part] = _float(params[p + part] / rows)
        found[p + "f2.w"] = _float(params[p + "f2.w"] * factor)
    return found


def evened(
    model: Architecture,
    params: Params,
    batches: list[np.ndarray],
    group: int = 1,
    strength: float = 1.0,
) -> Params:
    """Parameters of the same model whose queries, keys and values differ less from head to head.

    Args:
        batches: tokens (batch, length) of typical text.
        group: values of a head that share a factor, as those of a group of four-bit weights have to.
        strength: how much of the values' difference goes into the columns of the projection.

    Raises:
        ConfigurationError: the heads have norms of their own, or the feed-forward layers no gate.
    """
    _check(model)
    peaks = _peaks(model, params, batches, (".q", ".k", ".v"))
    found, turned_pairs = dict(params), 2 * len(model.rotary)
    shared = model.heads // model.kv_heads
    for layer in range(model.layers):
        p = f"{layer}."
        query = peaks[p + "q"].reshape(model.kv_heads, shared, -1).max(1)
        even = np.sqrt(_of_pairs(query, turned_pairs) / _of_pairs(peaks[p + "k"], turned_pairs))
        _scale_rows(found, p + "k", even)
        _scale_rows(found, p + "q", 1.0 / np.repeat(even, shared, axis=0))
        columns = np.maximum(np.abs(params[p + "p.w"]).max(0), 1e-5)
        column = _of_groups(columns.reshape(model.kv_heads, shared, -1).max(1), group)
        value = _of_groups(peaks[p + "v"], group)
        factor = value**strength / column ** (1.0 - strength)
        _scale_rows(found, p + "v", 1.0 / factor)
        found[p + "p.w"] = _float(found[p + "p.w"] * np.repeat(factor, shared, axis=0).reshape(-1))
    return found


def _peaks(
    model: Architecture, params: Params, batches: list[np.ndarray], endings: tuple[str, ...]
) -> dict[str, np.ndarray]:
    """The largest magnitude of each channel: (width), or (heads, width) of queries, keys and values."""
    peaks: dict[str, np.ndarray] = {}

    def observe(name: str, value: np.ndarray) -> None:
        if name.endswith(endings):
            found = np.abs(value).max(0 if value.ndim == 3 else (0, 2))
            peak = found.max(0) if value.ndim == 3 else found
            peaks[name] = np.maximum(peaks.get(name, 1e-5), peak)

    for tokens in batches:
        FloatModel(model, params, observe).forward(tokens)
    return peaks


def _of_pairs(peaks: np.ndarray, turned_pairs: int) -> np.ndarray:
    """Peaks (heads, width) where both elements that are turned together have the larger of theirs."""
    pairs = peaks[:, :turned_pairs].reshape(len(peaks), 2, -1).max(1)
    return np.concatenate([pairs, pairs, peaks[:, turned_pairs:]], axis=1)


def _of_groups(peaks: np.ndarray, group: int) -> np.ndarray:
    """Peaks (heads, width) where all of a group have the largest of theirs."""
    return np.repeat(peaks.reshape(len(peaks), -1, group).max(-1), group, axis=1)


def _scale_rows(params: Params, name: str, factor: np.ndarray) -> None:
    """Multiply the outputs of a linear layer, (heads, width) of them, in a dictionary that is ours."""
    rows = factor.reshape(-1)
    params[name + ".w"] = _float(params[name + ".w"] * rows[:, None])
    params[name + ".b"] = _float(params[name + ".b"] * rows)


def _check(model: Architecture) -> None:
    if not (model.rms and model.gated) or model.post_norm or model.qk_norm:
        raise ConfigurationError(
            f"The residual of a model of the family {model.family!r} cannot be turned.",
            help="models with norms by the root mean square in front of gated layers can, as LLaMA.",
        )


def _float(values: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(values, np.float32)
