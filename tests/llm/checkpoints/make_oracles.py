"""Tiny checkpoints as Hugging Face's own library writes them, with what it computes from them.

    python tests/llm/checkpoints/make_oracles.py FOLDER      # needs torch and transformers

The tests read what this program once made; they need neither library. Every parameter is random,
so that a bias or a norm that is forgotten shows.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import torch
import transformers
from transformers import (
    BertConfig,
    BertModel,
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    OPTConfig,
    OPTForCausalLM,
)

MODELS = {
    "gpt2": (
        GPT2LMHeadModel,
        GPT2Config(n_layer=2, n_embd=32, n_head=4, n_positions=24, vocab_size=48),
    ),
    "opt": (
        OPTForCausalLM,
        OPTConfig(
            num_hidden_layers=2,
            hidden_size=32,
            num_attention_heads=4,
            ffn_dim=48,
            max_position_embeddings=24,
            vocab_size=48,
            word_embed_proj_dim=32,
        ),
    ),
    "llama": (
        LlamaForCausalLM,
        LlamaConfig(
            num_hidden_layers=2,
            hidden_size=32,
            num_attention_heads=4,
            num_key_value_heads=2,
            intermediate_size=48,
            max_position_embeddings=24,
            vocab_size=48,
            tie_word_embeddings=False,
        ),
    ),
    "llama3": (
        LlamaForCausalLM,
        LlamaConfig(
            num_hidden_layers=1,
            hidden_size=32,
            num_attention_heads=2,
            num_key_value_heads=1,
            intermediate_size=48,
            max_position_embeddings=24,
            vocab_size=48,
            tie_word_embeddings=True,
            rope_parameters={
                "rope_type": "llama3",
                "rope_theta": 100.0,
                "factor": 4.0,
                "low_freq_factor": 1.0,
                "high_freq_factor": 4.0,
                "original_max_position_embeddings": 12,
            },
        ),
    ),
    "bert": (
        BertModel,
        BertConfig(
            num_hidden_layers=2,
            hidden_size=32,
            num_attention_heads=4,
            intermediate_size=48,
            max_position_embeddings=24,
            vocab_size=48,
        ),
    ),
}


def main(folder: Path) -> None:
    for name, (kind, config) in MODELS.items():
        torch.manual_seed(7)
        model = kind(config).eval()
        for parameter in model.parameters():
            torch.nn.init.normal_(parameter, mean=0.0, std=0.2)
        for key, parameter in model.named_parameters():
            if parameter.ndim == 1 and key.endswith("weight"):
                torch.nn.init.normal_(parameter, mean=1.0, std=0.2)
        shard = "16KB" if name == "llama" else "1GB"
        model.save_pretrained(folder / name, max_shard_size=shard)
        tokens = torch.randint(4, config.vocab_size, (2, 20))
        with torch.no_grad():
            out = model(tokens)
        values = out.last_hidden_state if name == "bert" else out.logits
        np.savez(folder / name / "oracle.npz", tokens=tokens.numpy(), values=values.numpy())
    print(transformers.__version__, *sorted(str(p) for p in folder.rglob("*") if p.is_file()))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
