"""A W8A8, W4A8 or ternary model of any shape: random weights, activations as large as trained ones."""

from __future__ import annotations

import numpy as np

from ..checkpoints.groups import GROUP, MOST_Q, MOST_STEP
from ..checkpoints.offsets import Offsets
from ..checkpoints.quantize import QuantizedModel, finest_shift
from ..config import Architecture

SPREAD = 30.0
"""Standard deviation of int8 weights and activations: their largest is four times as large."""
STEP = 0.3
"""What a block adds to a residual of standard deviation 1."""
TERNARY = (2 / 3) ** 0.5
"""That of ternary weights."""
SPREADS = {"q": SPREAD, "k": SPREAD, "v": SPREAD, "p": STEP, "gate": 1.5, "f1": 1.5, "f2": STEP}
"""Standard deviation of what a linear layer gives."""

GATED = SPREAD / 1.5
"""Levels that a gated activation of 1 has."""


def random_weights(
    config: Architecture, seed: int = 0, bits: int = 8, block: int = 0, *, ternary: bool = False
) -> QuantizedModel:
    """Every array of the model, drawn from a seed.

    Args:
        bits: of the weights but those of the last layer; with 4, groups of 128 inputs, or all of them,
            share a step.
        block: activations that share a power of two, where each token has a step of its own; weights of 4
            bits then have steps and offsets of groups of as many inputs.
        ternary: whether all weights are -1, 0 and 1, a third of them each.
    """
    rng = np.random.default_rng(seed)
    arrays: dict[str, np.ndarray] = {}

    def small(*shape: int, spread: float = 1.0) -> np.ndarray:
        return (rng.standard_normal(shape, np.float32) * np.float32(spread)).astype(np.float32)

    def norm(name: str) -> None:
        arrays[name + ".g"] = SPREAD * (1 + small(config.d, spread=0.2))
        arrays[name + ".b"] = small(config.d, spread=3.0)
        if config.post_norm:
            for part in (".g", ".b"):
                arrays[name + part] = arrays[name + part] / SPREAD
            arrays[name + ".q"] = np.array([SPREAD])
        if config.rms:
            arrays[name + ".b"][:] = 0

    def linear(name: str, outputs: int, inputs: int, spread: float) -> None:
        """Outputs of standard deviation ``spread`` where the inputs have ``SPREAD``."""
        weights = rng.standard_normal((outputs, inputs), np.float32) * np.float32(SPREAD)
        if group and name != "head":
            drawn = [
                rng.integers(low, high, (outputs, size)).astype(np.int8)
                for low, high, size in (
                    (-8, 8, inputs),
                    (3, 10, inputs // group),
                    (-12, 13, inputs // group),
                )
            ]
            found = Offsets(drawn[0], drawn[1], drawn[2], np.ones(outputs))
            parts = {"q": found.q, "d": found.steps, "m": found.offsets, "w": found.rows()}
            arrays.update({f"{name}.{part}": value for part, value in parts.items()})
        elif bits == 4 and name != "head":
            groups = weights.reshape(outputs, -1, min(GROUP, inputs))
            most = np.abs(groups).max(-1, keepdims=True)
            steps = np.clip(np.rint(most / MOST_Q), 1, MOST_STEP)
            q = np.clip(np.rint(groups / steps), -MOST_Q, MOST_Q)
            weights = (q * steps).reshape(outputs, inputs)
        if ternary:
            arrays[name + ".w"] = rng.integers(-1, 2, (outputs, inputs), np.int8)
        if name + ".w" not in arrays:
            arrays[name + ".w"] = np.clip(np.rint(weights), -127, 127).astype(np.int8)
        factor = spread / ((TERNARY if ternary else SPREAD) * SPREAD * inputs**0.5)
        if block:
            factor *= (GATED if name.endswith("f2") else 1.0) / (1 << finest)
        arrays[name + ".s"] = factor * (1 + small(outputs, spread=0.1))
        arrays[name + ".b"] = small(outputs, spread=spread / 10)
        if name.rpartition(".")[2] not in config.biases:
            arrays[name + ".b"][:] = 0

    group = block if bits == 4 else 0
    finest = finest_shift(config, group)
    arrays["token"] = small(config.vocab, config.d)
    if not config.rotary:
        arrays["position"] = small(config.context, config.d, spread=0.3)
    for layer in range(config.layers):
        p = f"{layer}."
        norm(p + "norm1")
        norm(p + "norm2")
        for name, (outputs, inputs) in config.linears().items():
            linear(p + name, outputs, inputs, SPREADS[name])
        softmax = 1.0 / (SPREAD * SPREAD * config.head_dim**0.5)
        for name, factor in (("softmax", softmax), ("attend", 2.0), ("gelu", GATED)):
            arrays[p + name] = np.array([factor], np.float32)
    norm("embed" if config.post_norm else "norm")
    if config.has_head:
        linear("head", config.vocab, config.d, 2.0)
    typed = {k: v if v.dtype.kind == "i" else v.astype(np.float32) for k, v in arrays.items()}
    return QuantizedModel(config, typed, block=block)
