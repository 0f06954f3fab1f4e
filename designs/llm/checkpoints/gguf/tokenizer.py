"""The tokenizer in a GGUF file, as one of Hugging Face's ``tokenizers``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ...language.chat import ChatTemplate
from ...language.tokenizer import Tokenizer, TokenizerError
from ..libraries import library

CONTROL, USER_DEFINED = 3, 4
"""Kinds of tokens that a text is not cut into."""
_DIGITS = r"\p{N}{1,3}"
_LLAMA3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|"
    + _DIGITS
    + r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
_QWEN2 = _LLAMA3.replace(_DIGITS, r"\p{N}")


def read_tokenizer(path: Path, entries: Mapping[str, Any]) -> Tokenizer | None:
    """The tokenizer that a file's entries describe, or None where there is none.

    Raises:
        TokenizerError: a kind of tokenizer, or of cutting texts in front of it, that is not known.
    """
    kind = entries.get("tokenizer.ggml.model")
    if kind is None or kind == "none":
        return None
    if kind != "gpt2":
        raise TokenizerError(
            f"The tokenizer of {path} is of GGUF's kind {kind!r}.",
            help="known is 'gpt2', byte pairs; put the tokenizer.json of the model beside the file.",
        )
    parts = library("tokenizers")
    tokens: list[str] = entries["tokenizer.ggml.tokens"]
    merges = [tuple(pair.split(" ", 1)) for pair in entries["tokenizer.ggml.merges"]]
    vocabulary = {token: number for number, token in enumerate(tokens)}
    whole = parts.Tokenizer(parts.models.BPE(vocab=vocabulary, merges=merges))
    whole.pre_tokenizer = _cutting(path, parts.pre_tokenizers, entries.get("tokenizer.ggml.pre"))
    whole.decoder = parts.decoders.ByteLevel()
    kinds = entries.get("tokenizer.ggml.token_type") or [1] * len(tokens)
    added = [
        parts.AddedToken(token, special=kind == CONTROL, normalized=False)
        for token, kind in zip(tokens, kinds, strict=True)
        if kind in (CONTROL, USER_DEFINED)
    ]
    whole.add_tokens(added)
    if entries.get("tokenizer.ggml.add_bos_token"):
        first = tokens[entries["tokenizer.ggml.bos_token_id"]]
        whole.post_processor = parts.processors.TemplateProcessing(
            single=f"{first} $A", special_tokens=[(first, vocabulary[first])]
        )
    return Tokenizer(whole)


def read_chat(entries: Mapping[str, Any]) -> ChatTemplate | None:
    """The chat template that a file's entries hold, or None."""
    text = entries.get("tokenizer.chat_template")
    if text is None:
        return None
    tokens = entries["tokenizer.ggml.tokens"]
    ends = (entries.get(f"tokenizer.ggml.{end}_token_id") for end in ("bos", "eos"))
    first, last = ("" if number is None else tokens[number] for number in ends)
    return ChatTemplate(text, first, last)


def _cutting(path: Path, ways: Any, name: str | None) -> Any:
    """How a text is cut before byte pairs are joined, by the name that llama.cpp gave it."""
    plain = ways.ByteLevel(add_prefix_space=False, use_regex=True)
    bytes_only = ways.ByteLevel(add_prefix_space=False, use_regex=False)
    match name:
        case None | "default" | "gpt-2":
            return plain
        case "smollm":
            return ways.Sequence([ways.Digits(individual_digits=True), plain])
        case "llama-bpe" | "qwen2":
            pattern = library("tokenizers").Regex(_QWEN2 if name == "qwen2" else _LLAMA3)
            return ways.Sequence([ways.Split(pattern, "isolated"), bytes_only])
    raise TokenizerError(
        f"The tokenizer of {path} cuts texts in the way {name!r}.",
        help="known are gpt-2, smollm, llama-bpe and qwen2; put the tokenizer.json of the model beside "
        "the file.",
    )
