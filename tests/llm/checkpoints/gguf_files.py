"""Files of GGUF, written by the package ``gguf`` from folders in Hugging Face's layout.

The rows of queries and keys are put in pairs as llama.cpp's converter does it for LLaMA: row ``i`` and row
``i + half`` of a head stand beside each other.
"""

from __future__ import annotations

from pathlib import Path

import gguf
import numpy as np

from allo.designs.llm.checkpoints.files import read_folder, read_json

KINDS = {
    "F32": None,
    "Q4_0": gguf.GGMLQuantizationType.Q4_0,
    "Q4_1": gguf.GGMLQuantizationType.Q4_1,
    "Q8_0": gguf.GGMLQuantizationType.Q8_0,
}
NUMBERS = {
    "num_hidden_layers": "block_count",
    "hidden_size": "embedding_length",
    "intermediate_size": "feed_forward_length",
    "max_position_embeddings": "context_length",
    "num_attention_heads": "attention.head_count",
    "num_key_value_heads": "attention.head_count_kv",
    "vocab_size": "vocab_size",
}
TOKENS = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
CHAT = (
    "{% for m in messages %}{{ '<|im_start|>' + m['role'] + '\n' + m['content'] + '<|im_end|>\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)


def in_pairs(rows: np.ndarray, heads: int) -> np.ndarray:
    width = len(rows) // heads
    order = [h * width + i + half for h in range(heads) for i in range(width // 2)
             for half in (0, width // 2)]  # fmt: skip
    return rows[order]


def write_gguf(
    folder: Path,
    path: Path,
    kind: str = "F32",
    arch: str = "llama",
    extra: dict[str, object] | None = None,
    left_out: tuple[str, ...] = (),
) -> Path:
    """A file of the model in a folder, its matrices in blocks of a kind."""
    about, tensors = read_json(folder / "config.json"), read_folder(folder)
    writer = gguf.GGUFWriter(path, arch)
    for theirs, ours in NUMBERS.items():
        if ours not in left_out:
            writer.add_uint32(f"{arch}.{ours}", about[theirs])
    writer.add_float32(f"{arch}.attention.layer_norm_rms_epsilon", about["rms_norm_eps"])
    for name, value in (extra or {}).items():
        writer.add_key_value(name, value, _value_type(value))
    known = {name: kind for kind, name in gguf.MODEL_ARCH_NAMES.items()}
    names = gguf.get_tensor_name_map(
        known.get(arch, gguf.MODEL_ARCH.LLAMA), about["num_hidden_layers"]
    )
    for name in tensors:
        found = np.array(tensors[name], np.float32)
        for part, count in (("q_proj", "num_attention_heads"), ("k_proj", "num_key_value_heads")):
            if part in name and arch == "llama":
                found = in_pairs(found, about[count])
        stored = names.get_name(name, (".weight", ".bias")) or name
        how = KINDS[kind] if found.ndim == 2 and found.shape[1] % 32 == 0 else None
        if how is None:
            writer.add_tensor(stored, found)
        else:
            writer.add_tensor(stored, gguf.quantize(found, how), raw_dtype=how)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def tokenizer_entries(pre: str = "smollm") -> dict[str, object]:
    """A tokenizer of byte pairs with three special tokens and two merges."""
    from tokenizers import pre_tokenizers

    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokens = [*TOKENS, *letters, "th", "Ġth"]
    return {
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": pre,
        "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.token_type": [3] * len(TOKENS) + [1] * (len(tokens) - len(TOKENS)),
        "tokenizer.ggml.merges": ["t h", "Ġ th"],
        "tokenizer.ggml.bos_token_id": 1,
        "tokenizer.ggml.eos_token_id": 2,
        "tokenizer.chat_template": CHAT,
    }


def _value_type(value: object) -> gguf.GGUFValueType:
    if isinstance(value, str):
        return gguf.GGUFValueType.STRING
    if isinstance(value, list):
        return gguf.GGUFValueType.ARRAY
    return gguf.GGUFValueType.FLOAT32 if isinstance(value, float) else gguf.GGUFValueType.UINT32
