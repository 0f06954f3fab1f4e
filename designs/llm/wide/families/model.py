"""What the wide accelerator has to know of a model: sizes of its jobs, and the kernels of its family."""

from __future__ import annotations

from ... import constants
from ...checkpoints.architecture import Architecture
from ...checkpoints.quantize import QuantizedModel
from ...config import GPTConfig
from ...network.weights import QuantizedWeights

Model = GPTConfig | Architecture
"""The shape of a GPT-2, or the shape and arithmetic of a model of any family."""
Weights = QuantizedWeights | QuantizedModel
"""A quantised GPT-2, or a quantised model of any family."""


def architecture_of(model: Model) -> Architecture:
    """The shape and arithmetic of a model; a GPT's shape alone is that of a GPT-2."""
    if isinstance(model, Architecture):
        return model
    return Architecture(
        family="gpt2",
        layers=model.layers,
        d=model.d,
        heads=model.heads,
        kv_heads=model.heads,
        head_dim=model.head_dim,
        ffn=model.ffn,
        context=model.context,
        vocab=model.vocab,
        activation="gelu_tanh",
        eps=constants.EPS,
    )


def job_sizes(model: Model) -> tuple[tuple[int, int], ...]:
    """Outputs and inputs of the four jobs of a layer: q, k and v; p; gate and f1; f2."""
    linears = architecture_of(model).linears()
    return tuple(
        (sum(linears[name][0] for name in names), linears[names[0]][1])
        for names in job_layers(model)
    )


def job_layers(model: Model) -> tuple[tuple[str, ...], ...]:
    """The linear layers of the four jobs of a layer."""
    up = ("gate", "f1") if architecture_of(model).gated else ("f1",)
    return ("q", "k", "v"), ("p",), up, ("f2",)


def all_sums(model: Model, outputs: int) -> int:
    """Sums of a step: the outputs of all jobs, of which the last has ``outputs``."""
    return architecture_of(model).layers * sum(size for size, _ in job_sizes(model)) + outputs


def terms(model: Model) -> tuple[int, int]:
    """Numbers that the tables have for an output and for an element of a norm.

    For an output a factor, and a bias if the family has one; for an element a gain, a shift if the norms
    subtract the mean, and a step for the quantised result if the result itself is kept, too.
    """
    m = architecture_of(model)
    return 1 if m.family == "llama" else 2, 1 + (not m.rms) + m.post_norm


def position_row(model: Model) -> int:
    """Numbers of a position's row: those added to a token's, or cosines and sines of a head's pairs."""
    m = architecture_of(model)
    return m.head_dim if m.rotary else m.d


def norm_names(model: Model) -> list[str]:
    """The norms of a step in their order."""
    m = architecture_of(model)
    of_layers = [f"{layer}.{norm}" for layer in range(m.layers) for norm in ("norm1", "norm2")]
    return ["embed", *of_layers] if m.post_norm else [*of_layers, "norm"]
