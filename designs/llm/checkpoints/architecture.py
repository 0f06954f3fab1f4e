"""What a ``config.json`` of Hugging Face says of a model's shape and arithmetic."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypedDict

import numpy as np

from ..config import Architecture, ConfigurationError
from .files import read_json

ACTIVATIONS = {
    "gelu_new": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
    "gelu": "gelu",
    "relu": "relu",
    "silu": "silu",
}
"""Hugging Face's name of an activation function, and ours."""


def read_architecture(path: Path) -> Architecture:
    """The architecture a ``config.json`` describes.

    Raises:
        CheckpointFileError: the file is missing or damaged.
        ConfigurationError: an entry is missing or of a kind that is not known.
    """
    config = read_json(path)
    family = config.get("model_type")
    if family not in _FAMILIES:
        raise ConfigurationError(
            f"The model of {path} is of the family {family!r}.",
            help=f"known are {', '.join(_FAMILIES)}.",
        )
    try:
        return _FAMILIES[family](config)
    except KeyError as error:
        raise ConfigurationError(
            f"The configuration {path} of a {family} model has no entry {error.args[0]!r}.",
            help="copy the file again from where the model came from.",
        ) from error


def _gpt2(c: dict[str, Any]) -> Architecture:
    _require(c, "scale_attn_weights", True)
    _require(c, "scale_attn_by_inverse_layer_idx", False)
    d, heads = int(c["n_embd"]), int(c["n_head"])
    return Architecture(
        family="gpt2",
        layers=int(c["n_layer"]),
        **_plain_heads(d, heads),
        ffn=int(c.get("n_inner") or 4 * d),
        context=int(c["n_positions"]),
        vocab=int(c["vocab_size"]),
        activation=_activation(c.get("activation_function", "gelu_new")),
        eps=float(c.get("layer_norm_epsilon", 1e-5)),
    )


def _opt(c: dict[str, Any]) -> Architecture:
    _require(c, "do_layer_norm_before", True)
    _require(c, "word_embed_proj_dim", c["hidden_size"])
    return Architecture(
        family="opt",
        layers=int(c["num_hidden_layers"]),
        **_plain_heads(int(c["hidden_size"]), int(c["num_attention_heads"])),
        ffn=int(c["ffn_dim"]),
        context=int(c["max_position_embeddings"]),
        vocab=int(c["vocab_size"]),
        activation=_activation(c.get("activation_function", "relu")),
        eps=1e-5,
    )


def _llama(c: dict[str, Any]) -> Architecture:
    d, heads = int(c["hidden_size"]), int(c["num_attention_heads"])
    width = int(c.get("head_dim") or d // heads)
    return Architecture(
        family="llama",
        layers=int(c["num_hidden_layers"]),
        d=d,
        heads=heads,
        kv_heads=int(c.get("num_key_value_heads") or heads),
        head_dim=width,
        ffn=int(c["intermediate_size"]),
        context=int(c["max_position_embeddings"]),
        vocab=int(c["vocab_size"]),
        activation=_activation(c.get("hidden_act", "silu")),
        eps=float(c["rms_norm_eps"]),
        rms=True,
        gated=True,
        rotary=rotary_angles(c, width),
    )


def _bert(c: dict[str, Any]) -> Architecture:
    if c.get("position_embedding_type", "absolute") != "absolute":
        _require(c, "position_embedding_type", "absolute")
    return Architecture(
        family="bert",
        layers=int(c["num_hidden_layers"]),
        **_plain_heads(int(c["hidden_size"]), int(c["num_attention_heads"])),
        ffn=int(c["intermediate_size"]),
        context=int(c["max_position_embeddings"]),
        vocab=int(c["vocab_size"]),
        activation=_activation(c.get("hidden_act", "gelu")),
        eps=float(c.get("layer_norm_eps", 1e-12)),
        post_norm=True,
        causal=False,
        has_head=False,
    )


_FAMILIES: dict[str, Callable[[dict[str, Any]], Architecture]] = {
    "gpt2": _gpt2,
    "opt": _opt,
    "llama": _llama,
    "bert": _bert,
}


class _Heads(TypedDict):
    d: int
    heads: int
    kv_heads: int
    head_dim: int


def _plain_heads(d: int, heads: int) -> _Heads:
    if heads < 1 or d % heads:
        raise ConfigurationError(
            f"The hidden width {d} is not a multiple of the {heads} attention heads."
        )
    return {"d": d, "heads": heads, "kv_heads": heads, "head_dim": d // heads}


def _activation(name: str) -> str:
    if name not in ACTIVATIONS:
        raise ConfigurationError(
            f"The activation function {name!r} is not known.",
            help=f"known are {', '.join(ACTIVATIONS)}.",
        )
    return ACTIVATIONS[name]


def _require(config: dict[str, Any], name: str, value: object) -> None:
    found = config.get(name, value)
    if found != value:
        raise ConfigurationError(
            f"The configuration has {name} = {found!r}, and only {value!r} is known.",
            help="use a checkpoint without this variant.",
        )


def rotary_angles(c: Mapping[str, Any], width: int) -> tuple[float, ...]:
    """Radians a position for each pair of a head (Su et al., 2021), stretched as LLaMA 3 does.

    Args:
        c: the entries of a ``config.json``.
        width: of a head.

    Raises:
        ConfigurationError: another kind of rotary positions.
    """
    rope = {**(c.get("rope_scaling") or {}), **(c.get("rope_parameters") or {})}
    theta = float(rope.get("rope_theta") or c.get("rope_theta") or 10_000.0)
    angles = theta ** (-np.arange(0, width, 2, dtype=np.float64) / width)
    kind = rope.get("rope_type", rope.get("type", "default"))
    if kind == "default":
        return tuple(angles.tolist())
    if kind != "llama3":
        raise ConfigurationError(
            f"Rotary positions of the type {kind!r} are not known.",
            help="known are 'default' and 'llama3'.",
        )
    low, high = float(rope["low_freq_factor"]), float(rope["high_freq_factor"])
    turns = float(rope["original_max_position_embeddings"]) * angles / (2 * math.pi)
    share = np.clip((turns - low) / (high - low), 0.0, 1.0)
    stretched = angles / float(rope["factor"])
    return tuple(((1 - share) * stretched + share * angles).tolist())
