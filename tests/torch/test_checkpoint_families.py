"""Tiny checkpoints that ``transformers`` makes here: equal to it in float, or refused with what they have."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers as hf

from allo.designs.llm.checkpoints.float_model import FloatModel
from allo.designs.llm.checkpoints.load import CheckpointShapeError, load_checkpoint
from allo.designs.llm.conditions import check_design
from allo.designs.llm.config import ConfigurationError
from allo.designs.llm.wide.parameters import Wide, WidthError, check_wide

SIZES = {
    "num_hidden_layers": 2, "hidden_size": 32, "num_attention_heads": 4, "intermediate_size": 48,
    "max_position_embeddings": 24, "vocab_size": 48, "pad_token_id": None,
}  # fmt: skip
GROUPS = {**SIZES, "num_key_value_heads": 2}
GPT2 = {"n_layer": 2, "n_embd": 32, "n_head": 4, "n_positions": 24, "vocab_size": 48}
OPT = {**SIZES, "ffn_dim": 48, "word_embed_proj_dim": 32, "pad_token_id": 1}
WINDOW = {"use_sliding_window": True, "sliding_window": 6, "max_window_layers": 1}
BERT = {**SIZES, "is_decoder": True}
WIDE = Wide(channels=2, lanes=8, vector=4, heads=1)

Make = tuple[str, str, dict[str, Any]]
EQUAL: dict[str, Make] = {
    "gpt2": ("GPT2LMHeadModel", "GPT2Config", GPT2),
    "opt": ("OPTForCausalLM", "OPTConfig", OPT),
    "opt without biases": ("OPTForCausalLM", "OPTConfig", {**OPT, "enable_bias": False}),
    "llama": ("LlamaForCausalLM", "LlamaConfig", SIZES),
    "llama of groups": ("LlamaForCausalLM", "LlamaConfig", GROUPS),
    "llama with biases": ("LlamaForCausalLM", "LlamaConfig", {**GROUPS, "attention_bias": True}),
    "llama with all": (
        "LlamaForCausalLM", "LlamaConfig", {**GROUPS, "attention_bias": True, "mlp_bias": True},
    ),
    "bert": ("BertModel", "BertConfig", SIZES),
    "bert decoder": ("BertModel", "BertConfig", BERT),
    "qwen2": ("Qwen2ForCausalLM", "Qwen2Config", GROUPS),
    "qwen2 of windows": ("Qwen2ForCausalLM", "Qwen2Config", {**GROUPS, **WINDOW}),
    "qwen3": ("Qwen3ForCausalLM", "Qwen3Config", {**GROUPS, "head_dim": 16}),
    "mistral": ("MistralForCausalLM", "MistralConfig", {**GROUPS, "sliding_window": None}),
    "mistral of windows": ("MistralForCausalLM", "MistralConfig", {**GROUPS, "sliding_window": 6}),
    "gemma": (
        "GemmaForCausalLM", "GemmaConfig", {**SIZES, "num_key_value_heads": 1, "head_dim": 16},
    ),
    "phi": ("PhiForCausalLM", "PhiConfig", SIZES),
    "phi3": ("Phi3ForCausalLM", "Phi3Config", {**GROUPS, "pad_token_id": 0}),
}  # fmt: skip
REFUSED: dict[str, tuple[Make, type[Exception], str]] = {
    "bert with logits": (
        ("BertLMHeadModel", "BertConfig", BERT), CheckpointShapeError,
        "is read from the tensor 'cls.predictions.bias' of .*, nor from 4 others",
    ),
    "bert of two": (
        ("BertModel", "BertConfig", {**BERT, "add_cross_attention": True}), ConfigurationError,
        "add_cross_attention = True, and only False is known",
    ),
    "bert that classifies": (
        ("BertForSequenceClassification", "BertConfig", SIZES), CheckpointShapeError,
        "is read from the tensor 'classifier.bias' of .*, nor from 1 others",
    ),
    "phi with norms": (
        ("PhiForCausalLM", "PhiConfig", {**SIZES, "qk_layernorm": True}), ConfigurationError,
        "qk_layernorm = True, and only False is known",
    ),
    "gemma2": (
        ("Gemma2ForCausalLM", "Gemma2Config", {**GROUPS, "head_dim": 8}), ConfigurationError,
        "is of the family 'gemma2'",
    ),
    "neox": (
        ("GPTNeoXForCausalLM", "GPTNeoXConfig", SIZES), ConfigurationError,
        "is of the family 'gpt_neox'",
    ),
}  # fmt: skip
IN_HARDWARE: dict[str, str | None] = {
    "gpt2": None,
    "opt": None,
    "opt without biases": None,
    "llama": None,
    "llama of groups": None,
    "llama with biases": None,
    "llama with all": None,
    "bert": "attention in both directions",
    "bert decoder": "norms behind the sums of a causal decoder",
    "qwen2": None,
    "qwen2 of windows": "attention to a window",
    "qwen3": "heads that do not fill the hidden width",
    "mistral": None,
    "mistral of windows": "attention to a window",
    "gemma": "GELU in the tanh form of a gate",
    "phi": "attention and feed-forward layers side by side",
    "phi3": None,
}
"""What the wide accelerator refuses each for; None for what it takes."""


def saved(make: Make, folder: Path) -> torch.nn.Module:
    """A model of random parameters, so that a bias or a gain that is forgotten shows."""
    torch.manual_seed(7)
    kind, config, entries = make
    model = getattr(hf, kind)(getattr(hf, config)(**entries)).eval()
    for name, parameter in model.named_parameters():
        is_gain = parameter.ndim == 1 and name.endswith("weight") and "gemma" not in kind.lower()
        torch.nn.init.normal_(parameter, mean=float(is_gain), std=0.2)
    model.save_pretrained(folder)
    return model


@pytest.mark.parametrize("name", EQUAL)
def test_a_checkpoint_computes_what_transformers_computes(name: str, tmp_path: Path) -> None:
    model = saved(EQUAL[name], tmp_path)
    tokens = torch.randint(4, 48, (2, 20))
    with torch.no_grad():
        out = model(tokens)
    expected = (out.logits if hasattr(out, "logits") else out.last_hidden_state).numpy()
    found = load_checkpoint(tmp_path)
    values = FloatModel(found.model, found.params).forward(tokens.numpy())
    assert np.abs(values - expected).max() < 1e-5 < np.abs(expected).max()
    assert all("pooler" in tensor for tensor in found.aside)


@pytest.mark.parametrize("name", REFUSED)
def test_another_checkpoint_is_refused_by_name(name: str, tmp_path: Path) -> None:
    make, error, message = REFUSED[name]
    saved(make, tmp_path)
    with pytest.raises(error, match=message):
        load_checkpoint(tmp_path)


@pytest.mark.parametrize("name", IN_HARDWARE)
def test_the_hardware_takes_a_checkpoint_or_says_what_it_lacks(name: str, tmp_path: Path) -> None:
    saved(EQUAL[name], tmp_path)
    model, lacking = load_checkpoint(tmp_path).model, IN_HARDWARE[name]
    if lacking is None:
        assert check_wide(model, WIDE) is None
        return
    with pytest.raises(
        WidthError, match=f"^The wide accelerator does not have {re.escape(lacking)}"
    ):
        check_wide(model, WIDE)


def test_a_tensor_that_nothing_reads_is_named(tmp_path: Path) -> None:
    model = saved(EQUAL["llama"], tmp_path)
    model.register_buffer("extra", torch.ones(3))
    model.save_pretrained(tmp_path)
    with pytest.raises(CheckpointShapeError, match=rf"'extra' of .*/{tmp_path.name}\."):
        load_checkpoint(tmp_path)


def test_integers_are_refused_what_they_do_not_have(tmp_path: Path) -> None:
    saved(EQUAL["qwen3"], tmp_path)
    with pytest.raises(
        ConfigurationError, match=r"^The integer model does not have norms of queries"
    ):
        check_design("integers", load_checkpoint(tmp_path).model)
