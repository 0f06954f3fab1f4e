"""Which tensor of a Hugging Face checkpoint holds which of our parameters."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable
from dataclasses import dataclass

import numpy as np

from ..config import LINEARS, Architecture

LAYER_NORM = (("g", ("weight", "gamma")), ("b", ("bias", "beta")))


@dataclass(frozen=True, slots=True)
class Source:
    """Where one of our parameters comes from.

    Attributes:
        names: the tensor's possible names; the first that is there counts.
        transposed: the tensor is (inputs, outputs).
        first: the first row that is part of it, over the outputs.
        rows: of the whole tensor; 0 for those up to the parameter's last one.
        factor, plus: the parameter is the tensor times the one, plus the other.
    """

    names: tuple[str, ...]
    transposed: bool = False
    first: int = 0
    rows: int = 0
    factor: float = 1.0
    plus: float = 0.0


def sources(model: Architecture) -> dict[str, Source]:
    """The source of every parameter of a model that its checkpoint holds, by our names.

    The others are zeros: biases that the model does not have, and the shifts of norms without any.
    """
    lacking = {f"{layer}.b" for layer in LINEARS if layer not in model.biases}
    found = _FAMILIES[model.family](model)
    return {
        name: source
        for name, source in found.items()
        if ".".join(name.split(".")[-2:]) not in lacking
    }


def _prefixed(prefix: str, name: str) -> tuple[str, ...]:
    return (prefix + name, name)


def _norm(ours: str, prefix: str, theirs: str) -> dict[str, Source]:
    return {
        f"{ours}.{part}": Source(
            tuple(n for ending in endings for n in _prefixed(prefix, f"{theirs}.{ending}"))
        )
        for part, endings in LAYER_NORM
    }


def _linear(
    ours: str, prefix: str, theirs: str, first: int = 0, rows: int = 0, transposed: bool = False
) -> dict[str, Source]:
    return {
        f"{ours}.{part}": Source(
            _prefixed(prefix, f"{theirs}.{name}"), transposed and part == "w", first, rows
        )
        for part, name in (("w", "weight"), ("b", "bias"))
    }


def _head(table: tuple[str, ...], *names: str) -> dict[str, Source]:
    return {"head.w": Source((*names, *table))}


def _gpt2(model: Architecture) -> dict[str, Source]:
    prefix = "transformer."
    token = _prefixed(prefix, "wte.weight")
    found = {"token": Source(token), "position": Source(_prefixed(prefix, "wpe.weight"))}
    found |= _head(token, "lm_head.weight") | _norm("norm", prefix, "ln_f")
    for i in range(model.layers):
        found |= _norm(f"{i}.norm1", prefix, f"h.{i}.ln_1")
        found |= _norm(f"{i}.norm2", prefix, f"h.{i}.ln_2")
        for part, name in enumerate("qkv"):
            rows = part * model.d, 3 * model.d
            found |= _linear(f"{i}.{name}", prefix, f"h.{i}.attn.c_attn", *rows, transposed=True)
        for ours, theirs in (("p", "attn.c_proj"), ("f1", "mlp.c_fc"), ("f2", "mlp.c_proj")):
            found |= _linear(f"{i}.{ours}", prefix, f"h.{i}.{theirs}", transposed=True)
    return found


def _opt(model: Architecture) -> dict[str, Source]:
    prefix = "model."
    token = _prefixed(prefix, "decoder.embed_tokens.weight")
    places = _prefixed(prefix, "decoder.embed_positions.weight")
    found = {"token": Source(token), "position": Source(places, first=2)}
    found |= _head(token, "lm_head.weight") | _norm("norm", prefix, "decoder.final_layer_norm")
    for i in range(model.layers):
        layer = f"decoder.layers.{i}"
        found |= _norm(f"{i}.norm1", prefix, f"{layer}.self_attn_layer_norm")
        found |= _norm(f"{i}.norm2", prefix, f"{layer}.final_layer_norm")
        for ours, theirs in zip("qkvp", ("q_proj", "k_proj", "v_proj", "out_proj"), strict=True):
            found |= _linear(f"{i}.{ours}", prefix, f"{layer}.self_attn.{theirs}")
        found |= _linear(f"{i}.f1", prefix, f"{layer}.fc1")
        found |= _linear(f"{i}.f2", prefix, f"{layer}.fc2")
    return found


def _llama(model: Architecture) -> dict[str, Source]:
    """LLaMA and the families after it, whose tensors have the same names."""
    prefix, gains = "model.", 1.0 if model.family == "gemma" else 0.0
    token = _prefixed(prefix, "embed_tokens.weight")
    scale = float(np.float32(model.d**0.5)) if model.family == "gemma" else 1.0
    found = {
        "token": Source(token, factor=scale),
        "norm.g": Source(_prefixed(prefix, "norm.weight"), plus=gains),
    } | _head(token, "lm_head.weight")
    for i in range(model.layers):
        layer = f"layers.{i}"
        for ours, theirs in (("norm1", "input"), ("norm2", "post_attention")):
            names = _prefixed(prefix, f"{layer}.{theirs}_layernorm.weight")
            found[f"{i}.{ours}.g"] = Source(names, plus=gains)
        for name in "qk" if model.qk_norm else "":
            names = _prefixed(prefix, f"{layer}.self_attn.{name}_norm.weight")
            found[f"{i}.{name}_norm.g"] = Source(names)
        found |= _linear(f"{i}.p", prefix, f"{layer}.self_attn.o_proj")
        found |= _linear(f"{i}.f2", prefix, f"{layer}.mlp.down_proj")
        found |= _joined(model, i) if model.family == "phi3" else _apart(i)
    return found


def _apart(i: int) -> dict[str, Source]:
    """The linear layers of a block that one of the families joins, each a tensor."""
    found: dict[str, Source] = {}
    for name in "qkv":
        found |= _linear(f"{i}.{name}", "model.", f"layers.{i}.self_attn.{name}_proj")
    for ours, theirs in (("gate", "gate"), ("f1", "up")):
        found |= _linear(f"{i}.{ours}", "model.", f"layers.{i}.mlp.{theirs}_proj")
    return found


def _joined(model: Architecture, i: int) -> dict[str, Source]:
    """Queries, keys and values in one tensor, gates and what they multiply in another: as Phi-3."""
    found, sizes = dict[str, Source](), model.linears()
    parts = (("self_attn.qkv_proj", ("q", "k", "v")), ("mlp.gate_up_proj", ("gate", "f1")))
    for theirs, names in parts:
        first, rows = 0, sum(sizes[name][0] for name in names)
        for name in names:
            found |= _linear(f"{i}.{name}", "model.", f"layers.{i}.{theirs}", first, rows)
            first += sizes[name][0]
    return found


def _phi(model: Architecture) -> dict[str, Source]:
    prefix = "model."
    token = _prefixed(prefix, "embed_tokens.weight")
    found = {"token": Source(token), "head.b": Source(("lm_head.bias",))}
    found |= _head(token, "lm_head.weight") | _norm("norm", prefix, "final_layernorm")
    for i in range(model.layers):
        layer = f"layers.{i}"
        found |= _norm(f"{i}.norm1", prefix, f"{layer}.input_layernorm")
        for ours, theirs in zip("qkvp", ("q_proj", "k_proj", "v_proj", "dense"), strict=True):
            found |= _linear(f"{i}.{ours}", prefix, f"{layer}.self_attn.{theirs}")
        for name in ("f1", "f2"):
            found |= _linear(f"{i}.{name}", prefix, f"{layer}.mlp.{name.replace('f', 'fc')}")
    return found


def _bert(model: Architecture) -> dict[str, Source]:
    prefix = "bert."
    found = {
        "token": Source(_prefixed(prefix, "embeddings.word_embeddings.weight")),
        "position": Source(_prefixed(prefix, "embeddings.position_embeddings.weight")),
    }
    found |= _norm("embed", prefix, "embeddings.LayerNorm")
    for i in range(model.layers):
        layer = f"encoder.layer.{i}"
        found |= _norm(f"{i}.norm1", prefix, f"{layer}.attention.output.LayerNorm")
        found |= _norm(f"{i}.norm2", prefix, f"{layer}.output.LayerNorm")
        for ours, theirs in zip("qkv", ("query", "key", "value"), strict=True):
            found |= _linear(f"{i}.{ours}", prefix, f"{layer}.attention.self.{theirs}")
        found |= _linear(f"{i}.p", prefix, f"{layer}.attention.output.dense")
        found |= _linear(f"{i}.f1", prefix, f"{layer}.intermediate.dense")
        found |= _linear(f"{i}.f2", prefix, f"{layer}.output.dense")
    return found


SEGMENTS = _prefixed("bert.", "embeddings.token_type_embeddings.weight")
"""BERT's table of segments: all tokens are of the first, so its row is added to every position."""

_FAMILIES = {
    "gpt2": _gpt2,
    "opt": _opt,
    **dict.fromkeys(("llama", "mistral", "qwen2", "qwen3", "gemma", "phi3"), _llama),
    "phi": _phi,
    "bert": _bert,
}

CONSTANTS = re.compile(
    r"(.*\.)?(attn\.(bias|masked_bias)|rotary_emb\.inv_freq|embeddings\.position_ids)"
)
"""Tensors that older files hold and that no parameter comes from: masks, angles and numbers of positions."""
POOLER, HEADS = re.compile(r"(bert\.)?pooler\..*"), re.compile(r"cls\..*")
"""Tensors behind the hidden values that BERT ends in, which are not read: the pooler, and the heads that an
encoder was trained with."""


def unread(names: Iterable[str], read: Container[str]) -> list[str]:
    """The tensors that no one reads, and that are no constants either."""
    return sorted(n for n in names if n not in read and not CONSTANTS.fullmatch(n))


def is_aside(model: Architecture, name: str) -> bool:
    """Whether a tensor only stands behind the hidden values that a BERT ends in.

    A decoder's head is none of these: it gives the logits that the model is for.
    """
    if model.family != "bert":
        return False
    return bool(POOLER.fullmatch(name) or (not model.causal and HEADS.fullmatch(name)))
