"""Files of GGUF against ``transformers``, which reads them with code of its own: logits, tokens and chats."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
import transformers as hf
from transformers.modeling_gguf_pytorch_utils import load_gguf_checkpoint

from allo.designs.llm.checkpoints.float_model import FloatModel
from allo.designs.llm.checkpoints.load import load_checkpoint

from ..llm.checkpoints.gguf_files import CHAT, tokenizer_entries, write_gguf
from .test_checkpoint_families import GROUPS, saved

LLAMA = Path(__file__).parents[1] / "llm" / "checkpoints" / "oracles" / "llama"


def read_by_transformers(path: Path, kind: str = "Llama", **more: object) -> torch.nn.Module:
    """The model of a file; ``from_pretrained`` would want the package ``accelerate`` beside it."""
    config = getattr(hf, f"{kind}Config")(**load_gguf_checkpoint(str(path))["config"], **more)
    causal = getattr(hf, f"{kind}ForCausalLM")
    with torch.device("meta"):
        empty = causal(config)
    read = load_gguf_checkpoint(str(path), return_tensors=True, model_to_load=empty)
    model = causal(config).eval()
    model.load_state_dict(read["tensors"])
    return model


@pytest.mark.parametrize("kind", ["F32", "Q4_1"])
def test_a_model_computes_what_transformers_computes(tmp_path: Path, kind: str) -> None:
    write_gguf(LLAMA, tmp_path / "llama.gguf", kind, extra=tokenizer_entries())
    model = read_by_transformers(tmp_path / "llama.gguf")
    tokens = torch.randint(4, 48, (2, 20))
    with torch.no_grad():
        expected = model(tokens).logits.numpy()
    found = load_checkpoint(tmp_path / "llama.gguf")
    values = FloatModel(found.model, found.params).forward(tokens.numpy())
    assert np.abs(values - expected).max() < 2e-5 < np.abs(expected).max()


FAMILIES: dict[str, tuple[str, dict[str, object]]] = {
    "qwen2": ("Qwen2", {}),
    "qwen3": ("Qwen3", {"head_dim": 8}),
    "phi3": ("Phi3", {"pad_token_id": 0}),
}
"""By GGUF's name of the architecture: of its classes, and what transformers does not read from a file."""


@pytest.mark.parametrize("arch", FAMILIES)
def test_a_family_computes_what_transformers_computes(tmp_path: Path, arch: str) -> None:
    kind, more = FAMILIES[arch]
    saved((f"{kind}ForCausalLM", f"{kind}Config", {**GROUPS, **more}), tmp_path)
    width = {"qwen3.attention.key_length": 8, "qwen3.attention.value_length": 8}
    path = write_gguf(
        tmp_path, tmp_path / "it.gguf", arch=arch, extra=width if arch == "qwen3" else {}
    )
    tokens = torch.randint(4, 48, (2, 20))
    with torch.no_grad():
        expected = read_by_transformers(path, kind, **more)(tokens).logits.numpy()
    found = load_checkpoint(path)
    values = FloatModel(found.model, found.params).forward(tokens.numpy())
    assert np.abs(values - expected).max() < 2e-5 < np.abs(expected).max()


def test_texts_and_chats_are_those_of_transformers(tmp_path: Path) -> None:
    write_gguf(LLAMA, tmp_path / "llama.gguf", extra=tokenizer_entries("gpt-2"))
    theirs = hf.AutoTokenizer.from_pretrained(tmp_path, gguf_file="llama.gguf")
    found = load_checkpoint(tmp_path / "llama.gguf")
    assert found.tokenizer is not None and found.chat is not None
    for text in ("the other 1234", "  naïve — 日本 <|im_end|>thé\n\n\tthth", ""):
        assert found.tokenizer.encode(text) == theirs(text)["input_ids"]
    theirs.chat_template = CHAT
    messages = [{"role": "user", "content": "the"}, {"role": "assistant", "content": "1"}]
    for answer in (True, False):
        said = theirs.apply_chat_template(messages, tokenize=False, add_generation_prompt=answer)
        assert found.chat.render(messages, answer) == said
