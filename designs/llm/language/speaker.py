"""The model that speaks: where its folder is, and how well it predicts prose it has never seen."""

from __future__ import annotations

from collections.abc import Callable
from math import exp
from pathlib import Path

import numpy as np

from ..checkpoints.float_model import FloatModel, Params
from ..checkpoints.integer_model import IntegerModel
from ..checkpoints.quantize import QuantizedModel
from ..network.gpt import cross_entropy
from ..network.train import windows

FOLDER = Path(__file__).resolve().parents[1] / "data" / "speaker"
"""``config.json``, ``model.safetensors``, ``tokenizer.json``, and ``training.json`` beside them."""


def perplexity(
    forward: Callable[[np.ndarray], np.ndarray], tokens: np.ndarray, context: int
) -> float:
    """Perplexity a token, over windows of the context side by side.

    Args:
        forward: (batch, length) tokens to logits.
    """
    inputs, targets = windows(tokens, context)
    total = 0.0
    for first in range(0, len(inputs), 4):
        rows = targets[first : first + 4]
        total += cross_entropy(forward(inputs[first : first + 4]), rows)[0] * rows.size
    return exp(total / targets.size)


def float_perplexity(model: QuantizedModel, params: Params, tokens: np.ndarray) -> float:
    """Perplexity of float32 parameters."""
    return perplexity(FloatModel(model.model, params).forward, tokens, model.model.context)


def integer_perplexity(model: QuantizedModel, tokens: np.ndarray) -> float:
    """Perplexity of the quantised model, by its bit-exact reference."""
    return perplexity(lambda rows: IntegerModel(model).feed(rows), tokens, model.model.context)
