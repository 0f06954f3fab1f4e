"""Which tensor of a Hugging Face checkpoint holds which of our parameters."""

from __future__ import annotations

from dataclasses import dataclass

from ..config import Architecture

LAYER_NORM = (("g", ("weight", "gamma")), ("b", ("bias", "beta")))


@dataclass(frozen=True, slots=True)
class Source:
    """Where one of our parameters comes from.

    Attributes:
        names: the tensor's possible names; the first that is there counts.
        transposed: the tensor is (inputs, outputs).
        part, parts: the parameter is this part of so many equal ones, over the outputs.
        skip: first rows that are not part of it.
        optional: zeros where there is no such tensor.
    """

    names: tuple[str, ...]
    transposed: bool = False
    part: int = 0
    parts: int = 1
    skip: int = 0
    optional: bool = False


def sources(model: Architecture) -> dict[str, Source]:
    """The source of every parameter of a model, by our names."""
    found = _FAMILIES[model.family](model)
    return {name: found.get(name, Source((), optional=True)) for name in model.shapes()}


def _prefixed(prefix: str, name: str) -> tuple[str, ...]:
    return (prefix + name, name)


def _norm(ours: str, prefix: str, theirs: str) -> dict[str, Source]:
    return {
        f"{ours}.{part}": Source(
            tuple(n for ending in endings for n in _prefixed(prefix, f"{theirs}.{ending}"))
        )
        for part, endings in LAYER_NORM
    }


def _linear(ours: str, prefix: str, theirs: str, bias: bool = True) -> dict[str, Source]:
    return {
        f"{ours}.w": Source(_prefixed(prefix, f"{theirs}.weight")),
        f"{ours}.b": Source(_prefixed(prefix, f"{theirs}.bias"), optional=not bias),
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
            found |= _gpt2_linear(f"{i}.{name}", f"h.{i}.attn.c_attn", part, 3)
        found |= _gpt2_linear(f"{i}.p", f"h.{i}.attn.c_proj")
        found |= _gpt2_linear(f"{i}.f1", f"h.{i}.mlp.c_fc")
        found |= _gpt2_linear(f"{i}.f2", f"h.{i}.mlp.c_proj")
    return found


def _gpt2_linear(ours: str, theirs: str, part: int = 0, parts: int = 1) -> dict[str, Source]:
    weight = _prefixed("transformer.", theirs + ".weight")
    bias = _prefixed("transformer.", theirs + ".bias")
    return {
        ours + ".w": Source(weight, transposed=True, part=part, parts=parts),
        ours + ".b": Source(bias, part=part, parts=parts),
    }


def _opt(model: Architecture) -> dict[str, Source]:
    prefix = "model."
    token = _prefixed(prefix, "decoder.embed_tokens.weight")
    places = _prefixed(prefix, "decoder.embed_positions.weight")
    found = {"token": Source(token), "position": Source(places, skip=2)}
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
    prefix = "model."
    token = _prefixed(prefix, "embed_tokens.weight")
    found = {"token": Source(token), "norm.g": Source(_prefixed(prefix, "norm.weight"))}
    found |= _head(token, "lm_head.weight")
    for i in range(model.layers):
        layer = f"layers.{i}"
        for ours, theirs in (("norm1", "input"), ("norm2", "post_attention")):
            names = _prefixed(prefix, f"{layer}.{theirs}_layernorm.weight")
            found[f"{i}.{ours}.g"] = Source(names)
        for ours, theirs in zip("qkvp", "qkvo", strict=True):
            found |= _linear(f"{i}.{ours}", prefix, f"{layer}.self_attn.{theirs}_proj", False)
        for ours, theirs in (("gate", "gate"), ("f1", "up"), ("f2", "down")):
            found |= _linear(f"{i}.{ours}", prefix, f"{layer}.mlp.{theirs}_proj", False)
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

_FAMILIES = {"gpt2": _gpt2, "opt": _opt, "llama": _llama, "bert": _bert}
