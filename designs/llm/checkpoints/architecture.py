"""What a ``config.json`` of Hugging Face says of a model's shape and arithmetic."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypedDict

import numpy as np

from ..config import Architecture, ConfigurationError
from .entries import check_entries
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
    return architecture_of(path, read_json(path))


def architecture_of(path: Path, config: dict[str, Any]) -> Architecture:
    """The architecture that the entries of a ``config.json`` describe.

    Args:
        path: where they come from, for messages.

    Raises:
        ConfigurationError: an entry is missing or of a kind that is not known.
    """
    check_entries(path, config)
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
    _require(c, "add_cross_attention", False)
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
        biases=BLOCK,
    )


def _opt(c: dict[str, Any]) -> Architecture:
    _require(c, "do_layer_norm_before", True)
    _require(c, "word_embed_proj_dim", c["hidden_size"])
    _require(c, "layer_norm_elementwise_affine", True)
    _require(c, "_remove_final_layer_norm", False)
    return Architecture(
        family="opt",
        layers=int(c["num_hidden_layers"]),
        **_plain_heads(int(c["hidden_size"]), int(c["num_attention_heads"])),
        ffn=int(c["ffn_dim"]),
        context=int(c["max_position_embeddings"]),
        vocab=int(c["vocab_size"]),
        activation=_activation(c.get("activation_function", "relu")),
        eps=1e-5,
        biases=BLOCK if c.get("enable_bias", True) else (),
    )


def _llama(c: dict[str, Any]) -> Architecture:
    c = {"num_key_value_heads": None, **c}
    attention, feed = (
        ATTENTION if c.get("attention_bias") else (),
        GATED if c.get("mlp_bias") else (),
    )
    return _gated(c, "llama", biases=(*attention, *feed))


def _mistral(c: dict[str, Any]) -> Architecture:
    return _gated(c, "mistral", windows=_same_windows(c, 4096))


def _qwen2(c: dict[str, Any]) -> Architecture:
    return _gated(c, "qwen2", biases=("q", "k", "v"), windows=_windows(c))


def _qwen3(c: dict[str, Any]) -> Architecture:
    biases = ATTENTION if c.get("attention_bias") else ()
    c = {**c, "head_dim": c["head_dim"]}
    return _gated(c, "qwen3", biases=biases, windows=_windows(c), qk_norm=True)


def _gemma(c: dict[str, Any]) -> Architecture:
    """Gemma, whose checkpoints say ``gelu`` and mean the tanh form."""
    _require(c, "use_bidirectional_attention", None)
    kind = c.get("hidden_activation") or c.get("hidden_act") or "gelu_pytorch_tanh"
    c = {**c, "head_dim": c["head_dim"], "hidden_act": kind if kind != "gelu" else "gelu_new"}
    biases = ATTENTION if c.get("attention_bias") else ()
    return _gated(c, "gemma", biases=biases)


def _phi3(c: dict[str, Any]) -> Architecture:
    c = {"num_key_value_heads": None, **c}
    return _gated(c, "phi3", windows=_same_windows(c, 0), part=1.0)


def _phi(c: dict[str, Any]) -> Architecture:
    _require(c, "qk_layernorm", False)
    heads = _plain_heads(int(c["hidden_size"]), int(c["num_attention_heads"]))
    heads["kv_heads"] = int(c.get("num_key_value_heads") or heads["heads"])
    return Architecture(
        family="phi",
        layers=int(c["num_hidden_layers"]),
        **heads,
        ffn=int(c["intermediate_size"]),
        context=int(c["max_position_embeddings"]),
        vocab=int(c["vocab_size"]),
        activation=_activation(c.get("hidden_act", "gelu_new")),
        eps=float(c.get("layer_norm_eps", 1e-5)),
        rotary=rotary_angles(c, heads["head_dim"], part=0.5),
        parallel=True,
        biases=(*BLOCK, "head"),
    )


def _bert(c: dict[str, Any]) -> Architecture:
    _require(c, "position_embedding_type", "absolute")
    _require(c, "add_cross_attention", False)
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
        causal=bool(c.get("is_decoder", False)),
        has_head=False,
        biases=BLOCK,
    )


ATTENTION, GATED = ("q", "k", "v", "p"), ("gate", "f1", "f2")
BLOCK = (*ATTENTION, "f1", "f2")
"""The linear layers of a block without a gate."""
_FAMILIES: dict[str, Callable[[dict[str, Any]], Architecture]] = {
    "gpt2": _gpt2,
    "opt": _opt,
    "llama": _llama,
    "mistral": _mistral,
    "qwen2": _qwen2,
    "qwen3": _qwen3,
    "gemma": _gemma,
    "phi3": _phi3,
    "phi": _phi,
    "bert": _bert,
}


def _gated(
    c: dict[str, Any],
    family: str,
    *,
    biases: tuple[str, ...] = (),
    windows: tuple[int, ...] = (),
    qk_norm: bool = False,
    part: float | None = None,
) -> Architecture:
    """LLaMA, and the families after it.

    Args:
        part: of a head that is turned, where the configuration does not say it; None for families that
            turn all of it.
    """
    d, heads = int(c["hidden_size"]), int(c["num_attention_heads"])
    width = int(c.get("head_dim") or d // max(heads, 1))
    return Architecture(
        family=family,
        layers=int(c["num_hidden_layers"]),
        d=d,
        heads=heads,
        kv_heads=int(c["num_key_value_heads"] or heads),
        head_dim=width,
        ffn=int(c["intermediate_size"]),
        context=int(c["max_position_embeddings"]),
        vocab=int(c["vocab_size"]),
        activation=_activation(c.get("hidden_act", "silu")),
        eps=float(c["rms_norm_eps"]),
        rms=True,
        gated=True,
        rotary=rotary_angles(c, width, part),
        biases=biases,
        windows=windows,
        qk_norm=qk_norm,
    )


def _same_windows(c: dict[str, Any], usual: int) -> tuple[int, ...]:
    """One window for all layers; ``usual`` where the configuration does not say it."""
    window = int(c.get("sliding_window", usual) or 0)
    return (window,) * int(c["num_hidden_layers"]) if window else ()


def _windows(c: dict[str, Any]) -> tuple[int, ...]:
    """The window of each layer of a Qwen: of those that ``layer_types`` names, or behind the first ones."""
    if not c.get("use_sliding_window") or not c.get("sliding_window"):
        return ()
    count, width = int(c["num_hidden_layers"]), int(c["sliding_window"])
    first = int(c.get("max_window_layers", 28))
    kinds = c.get("layer_types") or [
        "sliding_attention" if layer >= first else "full_attention" for layer in range(count)
    ]
    known = {"sliding_attention": width, "full_attention": 0}
    for kind in kinds:
        _require({"layer_types": kind}, "layer_types", kind if kind in known else "full_attention")
    return tuple(known[kind] for kind in kinds)


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


def rotary_angles(c: Mapping[str, Any], width: int, part: float | None = None) -> tuple[float, ...]:
    """Radians a position for each pair of a head (Su et al., 2021), stretched as LLaMA 3 does.

    Args:
        c: the entries of a ``config.json``.
        width: of a head.
        part: of a head that is turned, where ``partial_rotary_factor`` does not say it; None where the
            entry does not count.

    Raises:
        ConfigurationError: another kind of rotary positions.
    """
    rope = {**(c.get("rope_scaling") or {}), **(c.get("rope_parameters") or {})}
    if part is not None:
        told = rope.get("partial_rotary_factor", c.get("partial_rotary_factor", part))
        width = int(width * float(told))
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
