"""A file of GGUF: its entries, and its tensors by the names that Hugging Face gives them.

The package ``gguf`` reads the file and takes blocks of quantised weights apart. Two things of its writer are
undone here: rows of queries and keys whose pairs it puts beside each other (LLaMA), and the 1 that it adds
to the gains of norms (Gemma).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np

from ..files import CheckpointFileError
from ..libraries import library

_REMEDY = "copy the file again from where the model came from."
ROTATION = "rope_freqs.weight"
"""The tensor by whose elements the angles of rotary positions are divided."""


class GGUFTensors(Mapping[str, np.ndarray]):
    """Tensors of a file by Hugging Face's names, float32; each is taken apart when it is asked for.

    Attributes:
        path: of the file.
        entries: what the file says beside its tensors, by name.
    """

    def __init__(self, path: Path) -> None:
        self.path, self._package = path, library("gguf")
        try:
            reader = self._package.GGUFReader(path)
            self.entries = {name: field.contents() for name, field in reader.fields.items()}
        except (ValueError, IndexError, KeyError, UnicodeDecodeError, OSError) as error:
            raise CheckpointFileError(
                f"The GGUF file {path} is truncated or damaged ({error}).", help=_REMEDY
            ) from error
        self._stored = {tensor.name: tensor for tensor in reader.tensors}
        self._by_name = {self._name(name): name for name in self._stored if name != ROTATION}

    def __getitem__(self, name: str) -> np.ndarray:
        return self._undone(name, self.stored(self._by_name[name]))

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_name)

    def __len__(self) -> int:
        return len(self._by_name)

    def stored(self, name: str) -> np.ndarray:
        """A tensor by its name in the file, as its writer left it, float32.

        Raises:
            CheckpointFileError: blocks of a kind that the package does not take apart.
        """
        tensor = self._stored[name]
        try:
            whole: np.ndarray = self._package.dequantize(tensor.data, tensor.tensor_type)
        except NotImplementedError as error:
            raise CheckpointFileError(
                f"Tensor {name!r} of {self.path} has blocks of the kind {tensor.tensor_type.name}, which "
                "are not read.",
                help="convert the model to Q4_0, Q4_1, Q8_0, Q4_K or Q6_K.",
            ) from error
        return np.ascontiguousarray(whole, np.float32).reshape(tuple(tensor.shape[::-1].tolist()))

    def rotation(self) -> np.ndarray | None:
        """By what the angles of the pairs of a head are divided, or None."""
        return self.stored(ROTATION) if ROTATION in self._stored else None

    @property
    def architecture(self) -> str:
        """GGUF's name of the architecture, or nothing."""
        return str(self.entries.get("general.architecture", ""))

    def _name(self, stored: str) -> str:
        """Hugging Face's name of a tensor; one that is not known keeps its own, and is refused by it."""
        base, _, ending = stored.rpartition(".")
        parts = base.split(".")
        if len(parts) == 1:
            return f"{_OUTER[base]}.{ending}" if base in _OUTER else stored
        if parts[0] != "blk" or parts[2] not in _BLOCK:
            return stored
        joined = self.architecture == "phi3" and parts[2] == "ffn_up"
        layer = "mlp.gate_up_proj" if joined else _BLOCK[parts[2]]
        return f"model.layers.{parts[1]}.{layer}.{ending}"

    def _undone(self, name: str, found: np.ndarray) -> np.ndarray:
        if self.architecture == "gemma" and name.endswith("norm.weight"):
            return found - np.float32(1.0)
        if self.architecture != "llama":
            return found
        for part, entry in (("q_proj", "head_count"), ("k_proj", "head_count_kv")):
            if f"self_attn.{part}." in name:
                told = self.entries.get(f"llama.attention.{entry}")
                return halves(found, int(told or self.entries["llama.attention.head_count"]))
        return found


_OUTER = {"token_embd": "model.embed_tokens", "output_norm": "model.norm", "output": "lm_head"}
_BLOCK = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_qkv": "self_attn.qkv_proj",
    "attn_output": "self_attn.o_proj",
    "attn_q_norm": "self_attn.q_norm",
    "attn_k_norm": "self_attn.k_norm",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
"""GGUF's names of the layers of a block, and Hugging Face's."""


def halves(rows: np.ndarray, heads: int) -> np.ndarray:
    """The rows of every head, whose pairs stand beside each other, with a pair half a head apart."""
    pairs = rows.reshape(heads, -1, 2, *rows.shape[1:])
    return np.ascontiguousarray(pairs.swapaxes(1, 2)).reshape(rows.shape)
