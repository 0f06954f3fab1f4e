"""The entries of a GGUF file as those of a ``config.json``, which every other reader takes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...config import ConfigurationError

FAMILIES = {
    "llama": "llama",
    "qwen2": "qwen2",
    "qwen3": "qwen3",
    "gemma": "gemma",
    "phi3": "phi3",
}
"""GGUF's name of an architecture, and ours. Files of Mistral's models call themselves ``llama``."""

_SIZES = {
    "block_count": "num_hidden_layers",
    "embedding_length": "hidden_size",
    "feed_forward_length": "intermediate_size",
    "context_length": "max_position_embeddings",
    "attention.head_count": "num_attention_heads",
    "attention.head_count_kv": "num_key_value_heads",
    "attention.key_length": "head_dim",
    "attention.sliding_window": "sliding_window",
    "attention.layer_norm_rms_epsilon": "rms_norm_eps",
    "rope.freq_base": "rope_theta",
}
"""Entries behind the architecture's name, and what a ``config.json`` calls them."""
_NEEDED = ("block_count", "embedding_length", "feed_forward_length", "context_length")
_DEFAULTS: dict[str, dict[str, Any]] = {
    "gemma": {"hidden_act": "gelu_pytorch_tanh"},
    "phi3": {"partial_rotary_factor": 1.0},
}


def as_config(path: object, entries: Mapping[str, Any], biased: bool) -> dict[str, Any]:
    """What a ``config.json`` of the same model would say.

    Args:
        path: of the file, for messages.
        entries: of the file, by their names.
        biased: whether the file has biases of attention.

    Raises:
        ConfigurationError: an architecture, a kind of rotary positions or of experts that is not known,
            or a size that is missing.
    """
    kind = entries.get("general.architecture")
    if kind not in FAMILIES:
        raise ConfigurationError(
            f"The model of {path} is of GGUF's architecture {kind!r}.",
            help=f"known are {', '.join(FAMILIES)}; others are read from Hugging Face's files.",
        )
    own = {
        name.removeprefix(f"{kind}."): value
        for name, value in entries.items()
        if name.startswith(f"{kind}.")
    }
    lacking = [name for name in _NEEDED if name not in own]
    if lacking:
        raise ConfigurationError(
            f"The GGUF file {path} has no entry '{kind}.{lacking[0]}'.",
            help="copy the file again from where the model came from.",
        )
    _refuse_variants(path, own)
    config: dict[str, Any] = {"model_type": FAMILIES[str(kind)], **_DEFAULTS.get(str(kind), {})}
    config |= {theirs: own[ours] for ours, theirs in _SIZES.items() if ours in own}
    config |= {"vocab_size": _vocab(path, own, entries), "attention_bias": biased}
    if kind != "qwen2" and kind != "qwen3" and not own.get("attention.sliding_window"):
        config.pop("sliding_window", None)
    width = own["embedding_length"] // max(own["attention.head_count"], 1)
    config.setdefault("head_dim", width)
    return config


def _refuse_variants(path: object, own: Mapping[str, Any]) -> None:
    if own.get("expert_count"):
        raise ConfigurationError(
            f"The model of {path} has {own['expert_count']} experts, and no design has any.",
            help="take a model without a mixture of experts.",
        )
    stretched = own.get("rope.scaling.type", "none")
    if stretched != "none":
        raise ConfigurationError(
            f"The rotary positions of {path} are stretched by the kind {stretched!r}.",
            help="known are plain ones, and factors in the tensor rope_freqs.weight.",
        )


def _vocab(path: object, own: Mapping[str, Any], entries: Mapping[str, Any]) -> int:
    told = own.get("vocab_size") or len(entries.get("tokenizer.ggml.tokens") or ())
    if not told:
        raise ConfigurationError(
            f"The GGUF file {path} does not say how many tokens its model has.",
            help="copy the file again from where the model came from.",
        )
    return int(told)
