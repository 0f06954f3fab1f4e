"""What a ``config.json`` of Hugging Face says of a model's shape and arithmetic."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypedDict

import numpy as np

from allo.errors import AlloError

from .. import constants
from ..config import GPTConfig
from .files import read_json

ACTIVATIONS = {
    "gelu_new": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
    "gelu": "gelu",
    "relu": "relu",
    "silu": "silu",
}
"""Hugging Face's name of an activation function, and ours."""


class ConfigurationError(AlloError, ValueError):
    """A ``config.json`` that lacks an entry, or describes a model that is not known here."""


@dataclass(frozen=True, slots=True)
class Architecture:
    """A transformer's shape and arithmetic.

    Attributes:
        family: ``gpt2``, ``opt``, ``llama`` or ``bert``.
        layers: blocks.
        d: hidden width.
        heads: attention heads.
        kv_heads: heads of keys and values; each serves ``heads // kv_heads`` queries.
        head_dim: width of one head.
        ffn: width of the feed-forward layer.
        context: longest sequence, in tokens.
        vocab: number of tokens.
        activation: ``gelu_tanh``, ``gelu``, ``relu`` or ``silu``.
        eps: what a norm adds to the variance.
        rms: norms divide by the root mean square and subtract nothing.
        gated: the feed-forward layer multiplies by a gate (SwiGLU).
        post_norm: norms stand behind the residual sums, as in BERT.
        causal: a token sees none that follow it.
        has_head: the model ends in logits; otherwise in hidden values.
        rotary: angle of a step of one position for each pair of a head; empty for learned positions.
    """

    family: str
    layers: int
    d: int
    heads: int
    kv_heads: int
    head_dim: int
    ffn: int
    context: int
    vocab: int
    activation: str
    eps: float
    rms: bool = False
    gated: bool = False
    post_norm: bool = False
    causal: bool = True
    has_head: bool = True
    rotary: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        sizes = (self.layers, self.d, self.heads, self.kv_heads, self.head_dim, self.ffn)
        if min(*sizes, self.context, self.vocab) <= 0:
            raise ConfigurationError(f"Every size of a model is positive, unlike in {self}.")
        if self.d % 8 or self.heads % self.kv_heads:
            raise ConfigurationError(
                f"The hidden width {self.d} is not a multiple of 8, or the {self.heads} heads are "
                f"not a multiple of the {self.kv_heads} heads of keys and values."
            )

    def linears(self) -> dict[str, tuple[int, int]]:
        """The linear layers of one block: name to (outputs, inputs)."""
        d, ffn, hd = self.d, self.ffn, self.head_dim
        wide, narrow = self.heads * hd, self.kv_heads * hd
        found = {"q": (wide, d), "k": (narrow, d), "v": (narrow, d), "p": (d, wide)}
        found |= {"gate": (ffn, d)} if self.gated else {}
        return found | {"f1": (ffn, d), "f2": (d, ffn)}

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Every parameter and its shape, by our names; weights are (outputs, inputs)."""
        d = self.d
        shapes: dict[str, tuple[int, ...]] = {"token": (self.vocab, d)}
        if not self.rotary:
            shapes["position"] = (self.context, d)
        norms = ["embed"] if self.post_norm else ["norm"]
        for layer in range(self.layers):
            norms += [f"{layer}.norm1", f"{layer}.norm2"]
            for name, (rows, cols) in self.linears().items():
                shapes[f"{layer}.{name}.w"] = (rows, cols)
                shapes[f"{layer}.{name}.b"] = (rows,)
        if self.has_head:
            shapes |= {"head.w": (self.vocab, d), "head.b": (self.vocab,)}
        return shapes | {f"{n}.{part}": (d,) for n in norms for part in "gb"}

    def gpt_config(self) -> GPTConfig:
        """The shape as the GPT accelerators take it.

        Raises:
            ConfigurationError: when the arithmetic is not that of these accelerators.
        """
        fits = {
            "its norms are layer norms in front of each block": not self.rms and not self.post_norm,
            "its activation is GELU in the tanh form": self.activation == "gelu_tanh",
            "its positions are learned": not self.rotary,
            "it is a causal decoder with logits": self.causal and self.has_head,
            "every query has keys of its own": self.heads == self.kv_heads,
            f"its norms add {constants.EPS}": self.eps == constants.EPS,
            "its heads fill the hidden width": self.heads * self.head_dim == self.d,
        }
        wrong = [condition for condition, met in fits.items() if not met]
        if wrong:
            raise ConfigurationError(
                f"The GPT accelerator takes a model only if {wrong[0]}, "
                f"unlike this one of the family {self.family!r}.",
                help="use a GPT-2 checkpoint, or compute this one by its integer reference.",
            )
        return GPTConfig(self.layers, self.d, self.heads, self.ffn, self.context, self.vocab)


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
